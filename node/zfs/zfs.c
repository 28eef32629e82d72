/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Changing the pool with zfs(8).
 *
 * Invariant: commands are argv arrays, without a shell. Options are constants, and the name of a
 * dataset starts with the name of its pool, so zfs never takes a value of a caller for an option.
 * Only code that asks zfs_is_the_kernels depends on which ZFS the host has.
 */
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "common/mem.h"
#include "node/zfs/argv.h"
#include "node/zfs/fuse.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"
#include "node/zfs/zfs_table.h"

bool zfs_reports_events(void)
{
	return zfs_is_the_kernels() && argv_is_plain();
}

void zfs_property(struct zfs_properties *properties, const char *name, const char *value)
{
	if (properties->n < ZFS_PROPERTIES_MAX)
		properties->rows[properties->n] = (struct zfs_property){name, value};
	properties->n++;
}

size_t zfs_property_options(struct arena *arena, const struct zfs_properties *properties,
			    const char **ret_argv)
{
	size_t used = 0;

	for (size_t i = 0; i < properties->n; i++) {
		ret_argv[used++] = "-o";
		ret_argv[used++] = arena_printf(arena, "%s=%s", properties->rows[i].name,
						properties->rows[i].value);
	}
	return used;
}

/* Run zfs VERB [-o name=value]... operand... */
static int make(const char *verb, const struct zfs_properties *properties,
		const char *const *operands, size_t n_operands, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	size_t used = 0;

	if (properties->n > ZFS_PROPERTIES_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "'%s' has %zu properties; give at most %d",
			    operands[n_operands - 1], properties->n, ZFS_PROPERTIES_MAX);
	const char **argv =
		arena_alloc(&arena, (3 + 2 * properties->n + n_operands) * sizeof(*argv));
	argv[used++] = "zfs";
	argv[used++] = verb;
	used += zfs_property_options(&arena, properties, argv + used);
	for (size_t i = 0; i < n_operands; i++)
		argv[used++] = operands[i];
	return zfs_run_with(argv, properties->key, err);
}

int zfs_create(const char *name, const struct zfs_properties *properties, struct error *err)
{
	return make("create", properties, &name, 1, err);
}

int zfs_create_folder(const char *name, struct error *err)
{
	const char *argv[] = {"zfs", "create",          "-o", "canmount=off",
			      "-o",  "mountpoint=none", name, NULL};

	return fuse_change(argv, err);
}

int zfs_check_devices(struct error *err)
{
	if (ssh_server())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the pool is on the server '%s', whose block devices do not exist on "
			    "this host; for block, ext4 and xfs run a zcsi-node on the server",
			    ssh_server());
	if (zfs_is_the_kernels())
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "this host has zfs-fuse, which has no block devices; for block, ext4 and xfs "
		    "install the kernel's OpenZFS (zfs-dkms)");
}

int zfs_create_zvol(const char *name, int64_t size, bool thin,
		    const struct zfs_properties *properties, struct error *err)
{
	char bytes[32];
	const char *const operands[] = {"-s", "-V", bytes, name};
	size_t skipped = thin ? 0 : 1;

	if (zfs_check_devices(err) < 0)
		return -1;
	snprintf(bytes, sizeof(bytes), "%" PRId64, size);
	return make("create", properties, operands + skipped, COUNT(operands) - skipped, err);
}

int zfs_clone(const char *snapshot, const char *name, const struct zfs_properties *properties,
	      struct error *err)
{
	auto_close int turn = -1; /* needed because zfs-fuse mounts a clone when it creates it */

	if (fuse_lock(&turn, err) < 0)
		return -1;
	return make("clone", properties, (const char *const[]){snapshot, name}, 2, err);
}

int zfs_promote(const char *name, struct error *err)
{
	return zfs_run((const char *const[]){"zfs", "promote", name, NULL}, err);
}

int zfs_snapshot(const char *const *names, size_t n, const struct zfs_properties *properties,
		 struct error *err)
{
	if (n > 1 && !zfs_is_the_kernels())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "zfs-fuse cannot take snapshots of several datasets at one instant; "
			    "take one at a time, or use a host with OpenZFS");
	return make("snapshot", properties, names, n, err);
}

static int set_rows(struct arena *arena, const char *name, const struct zfs_property *rows,
		    size_t n, struct error *err)
{
	const char *argv[ZFS_PROPERTIES_MAX + 4] = {"zfs", "set"};

	for (size_t i = 0; i < n; i++)
		argv[2 + i] = arena_printf(arena, "%s=%s", rows[i].name, rows[i].value);
	argv[2 + n] = name;
	return fuse_change(argv, err);
}

/* Give these properties the values that `before` has, after a failure. Errors are ignored. */
static void restore(struct arena *arena, const struct zfs_fields *before,
		    const struct zfs_properties *properties)
{
	struct error ignored;

	for (size_t i = 0; i < properties->n; i++) {
		const char *property = properties->rows[i].name;
		const struct zfs_value *value = zfs_fields_find(before, property);
		if (value && !strcmp(value->source, "local"))
			set_rows(arena, before->name,
				 &(const struct zfs_property){property, value->text}, 1, &ignored);
		else
			zfs_inherit(before->name, property, &ignored);
	}
}

/*
 * Set several properties. On failure, the properties that were set already are restored: zfs-fuse
 * sets one property at a time, and OpenZFS keeps other properties set if the kernel refuses one.
 */
static int set_several(struct arena *arena, const char *name,
		       const struct zfs_properties *properties, struct error *err)
{
	struct zfs_fields before;
	char *names = arena_strdup(arena, properties->rows[0].name);
	size_t n = properties->n, step = fuse_set_step(n);

	for (size_t i = 1; i < n; i++)
		names = arena_printf(arena, "%s,%s", names, properties->rows[i].name);
	if (zfs_table_one(arena, name, names, &before, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i += step) {
		if (set_rows(arena, name, &properties->rows[i], step, err) < 0) {
			restore(arena, &before, properties);
			return -1;
		}
	}
	return 0;
}

/*
 * Returns true if one `zfs set` sets all these properties or none. OpenZFS sets user properties
 * together, after zfs has refused values that are too long.
 */
static bool is_atomic(const struct zfs_properties *properties)
{
	for (size_t i = 0; i < properties->n; i++)
		if (!strchr(properties->rows[i].name, ':'))
			return false;
	return fuse_set_step(properties->n) == properties->n;
}

int zfs_set(const char *name, const struct zfs_properties *properties, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	if (!properties->n)
		return 0;
	if (properties->n > ZFS_PROPERTIES_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "'%s' has %zu properties; give at most %d",
			    name, properties->n, ZFS_PROPERTIES_MAX);
	if (is_atomic(properties) || properties->n == 1)
		return set_rows(&arena, name, properties->rows, properties->n, err);
	return set_several(&arena, name, properties, err);
}

int zfs_inherit(const char *name, const char *property, struct error *err)
{
	return fuse_change((const char *const[]){"zfs", "inherit", property, name, NULL}, err);
}

int zfs_rename(const char *name, const char *other, struct error *err)
{
	return fuse_change((const char *const[]){"zfs", "rename", name, other, NULL}, err);
}

int zfs_destroy(const char *name, struct error *err)
{
	return zfs_run((const char *const[]){"zfs", "destroy", name, NULL}, err);
}

int zfs_destroy_origin(const char *name, struct error *err)
{
	return zfs_run((const char *const[]){"zfs", "destroy", "-d", name, NULL}, err);
}

static int check_unheld(const char *name, struct error *err)
{
	uint64_t holds;

	if (zfs_userrefs(name, &holds, err) < 0)
		return -1;
	if (holds)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "it is held; list its holds with 'zfs holds %s' and release them",
			    name);
	return 0;
}

/*
 * The first try is without -d, because -d would mark a held snapshot for destruction at its
 * release.
 */
int zfs_destroy_snapshot(const char *name, struct error *err)
{
	const char *argv[] = {"zfs", "destroy", name, NULL};

	if (zfs_run_once(&(struct exec){.argv = argv}, NULL, err) == 0)
		return 0;
	/* ERR_ALREADY_EXISTS is the error while a clone of the snapshot is being created. */
	bool cloned = strstr(err->text, "has dependent clones") || err->code == ERR_ALREADY_EXISTS;
	if (!cloned && !strstr(err->text, "is busy") && !strstr(err->text, "being held"))
		return -1;
	if (check_unheld(name, err) < 0)
		return -1;
	return cloned ? zfs_destroy_origin(name, err) : zfs_destroy(name, err);
}

int zfs_mount(const char *name, const char *path, struct error *err)
{
	if (zfs_is_the_kernels()) {
		if (!mount(name, path, "zfs", 0, NULL))
			return 0;
		if (errno == EACCES)
			return fail(err, ERR_UNAUTHENTICATED, "the key of '%s' is not loaded",
				    name);
		return fail_errno(err, "cannot mount '%s' at '%s'", name, path);
	}
	struct zfs_properties mountpoint = {.n = 0};
	auto_close int turn = -1;
	zfs_property(&mountpoint, "mountpoint", path);
	if (zfs_set(name, &mountpoint, err) < 0 || fuse_lock(&turn, err) < 0)
		return -1;
	return zfs_run((const char *const[]){"zfs", "mount", name, NULL}, err);
}
