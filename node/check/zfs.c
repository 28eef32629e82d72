/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checks of the pool, of ZFS and its version, and of the parent dataset, in this order.
 *
 * Invariant: the checks stop at the first failure, so one cause is reported once. The error texts
 * are those of the calls that would fail in the daemon.
 */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "node/check/check.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define THING_MAX 300

struct parent {
	const char *type, *canmount, *mountpoint, *readonly, *keystatus;
};

/* Check that the properties of the parent suit the volumes below it. */
static int judge(const char *name, const struct parent *parent, struct error *err)
{
	bool unmounted = !strcmp(parent->canmount, "off") || !strcmp(parent->mountpoint, "none");

	if (strcmp(parent->type, "filesystem") != 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is a %s; give --dataset the name of a filesystem", parent->type);
	if (!unmounted)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is mounted itself; run 'zfs set canmount=off %s'", name);
	if (!strcmp(parent->readonly, "on"))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "nothing can be written below it; run 'zfs set readonly=off %s', or "
			    "import the pool without readonly=on",
			    name);
	if (!strcmp(parent->keystatus, "unavailable"))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "its key is not loaded; run 'zfs load-key %s'", name);
	return 0;
}

static int read_parent(const char *name, struct error *err)
{
	struct parent parent = {"-", "-", "-", "-", "-"};
	const struct {
		const char *property, **ret;
	} rows[] = {{"type", &parent.type},
		    {"canmount", &parent.canmount},
		    {"mountpoint", &parent.mountpoint},
		    {"readonly", &parent.readonly},
		    {"keystatus", &parent.keystatus}};
	auto_free char *out = NULL;
	char *state;

	if (zfs_parent(name, &out, err) < 0)
		return err->code == ERR_NOT_FOUND ? zfs_no_parent(name, err) : -1;
	for (char *line = strtok_r(out, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		char *value = strchr(line, '\t');
		if (!value)
			continue;
		*value++ = '\0';
		for (size_t i = 0; i < COUNT(rows); i++)
			if (!strcmp(rows[i].property, line))
				*rows[i].ret = value;
	}
	return judge(name, &parent, err);
}

static void check_version(struct check *check)
{
	auto_fclose FILE *file = fopen("/sys/module/zfs/version", "re");
	char thing[THING_MAX], version[64];
	bool known = !ssh_server() && file && fscanf(file, "%63s", version) == 1;

	if (zfs_is_the_kernels())
		snprintf(thing, sizeof(thing), "OpenZFS %s", known ? version : "of the kernel");
	else
		snprintf(thing, sizeof(thing),
			 "zfs-fuse, which has no block volumes, encryption, NFS exports and group "
			 "snapshots");
	check_say(check, NEEDED, thing, 0, NULL);
	if (known && zfs_is_the_kernels())
		check_bugs(check, version);
}

void check_zfs(struct check *check)
{
	const char *dataset = check->settings->dataset;
	char thing[THING_MAX];
	struct error err;
	struct zfs_pool pool;

	if (!dataset)
		return;
	snprintf(thing, sizeof(thing), "pool of '%s'", dataset);
	int failed = zfs_read_pool(dataset, &pool, &err);
	check_say(check, NEEDED, thing, failed, &err);
	if (failed)
		return;
	check_version(check);
	snprintf(thing, sizeof(thing), "dataset '%s'", dataset);
	failed = read_parent(dataset, &err);
	check_say(check, NEEDED, thing, failed, &err);
	if (!failed && zfs_is_the_kernels())
		check_allow(check);
}
