/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checks of the host: kernel, capabilities, mount propagation, certificates, endpoints.
 *
 * Invariant: each check tests the thing itself, in the namespaces and with the privileges of this
 * process, which are those of the daemon. No check infers a result from the kind of host.
 */
#include "node/check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/privilege.h"
#include "node/mount/mountinfo.h"
#include "node/host/privileges.h"
#include "node/zfs/zfs_run.h"
#include "transport/acceptor.h"

#define THING_MAX 600

/*
 * Check that the system call mount_setattr exists, by calling it with size 0: a kernel that has it
 * answers EINVAL before it looks at the other arguments.
 */
static void check_kernel(struct check *check)
{
	struct utsname kernel;
	struct error err;
	int failed = 0;

	uname(&kernel);
	mount_setattr(-1, "", 0, NULL, 0);
	if (errno == ENOSYS)
		failed = fail(&err, ERR_FAILED_PRECONDITION,
			      "this is Linux %s; zcsi-node needs 5.12 or later", kernel.release);
	else if (errno != EINVAL)
		failed = fail_errno(&err, "a filter of system calls may forbid it: allow those "
					  "for mounting (systemd's @mount)");
	check_say(check, NEEDED, "system call mount_setattr(2)", failed, &err);
}

static void check_capabilities(struct check *check)
{
	bool openzfs = zfs_is_the_kernels(), zfs_user = check->settings->zfs_user;
	char thing[THING_MAX];

	for (size_t i = 0; i < n_privileges; i++) {
		const struct privilege *row = &privileges[i];
		if ((row->when == OPENZFS && !openzfs) || (row->when == ZFS_USER && !zfs_user))
			continue;
		snprintf(thing, sizeof(thing), "capability %s", row->name);
		check_has(
			check, row->when == OPENZFS ? OPTIONAL : NEEDED, thing,
			privilege_held(row->number),
			"needed %s; run zcsi-node as root, in a container or unit that keeps this "
			"capability",
			row->use);
	}
}

/*
 * Returns true for a mount of a volume. A staging is a shared mount too, but does not show that
 * other namespaces see the mounts of this namespace: only the staging's targets are in its peer
 * group.
 */
static bool is_volume(const struct check *check, const struct mount *mount)
{
	const char *dataset = check->settings->dataset;

	return (dataset && strstr(mount->source, dataset)) || !strncmp(mount->type, "nfs", 3);
}

/* Returns true if mounts below this one appear in other mount namespaces too. */
static bool is_seen_by_others(const struct mount *mount)
{
	return mount->shared && !mount->master;
}

/* Returns a mount below which other mount namespaces see new mounts; NULL if there is none. */
static const struct mount *find_shared(const struct check *check, const struct mount_table *table)
{
	const struct mount *root = mount_at(table, "/");

	if (root && is_seen_by_others(root))
		return root;
	for (size_t i = 0; i < table->n; i++)
		if (is_seen_by_others(&table->rows[i]) && !is_volume(check, &table->rows[i]))
			return &table->rows[i];
	return NULL;
}

static void check_propagation(struct check *check)
{
	struct mount_table table;
	char thing[THING_MAX] = "mount propagation";
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct error err;

	int failed = mount_table_read(&arena, &table, &err);
	const struct mount *shared = failed ? NULL : find_shared(check, &table);
	if (shared)
		snprintf(thing, sizeof(thing), "mount propagation below '%s'", shared->target);
	else if (!failed)
		failed = fail(&err, ERR_FAILED_PRECONDITION,
			      "workloads would not see what zcsi-node mounts; run 'mount "
			      "--make-rshared /' on the host; give a container the staging "
			      "directory with rshared (Bidirectional); remove from a systemd unit "
			      "what gives it a mount namespace (ProtectSystem, PrivateTmp, ...)");
	check_say(check, NEEDED, thing, failed, &err);
}

static void check_trust(struct check *check)
{
	struct trust *trust = check->settings->trust;
	struct error err;

	int failed = trust_open(trust, &err);
	if (failed || trust->tls)
		check_say(check, NEEDED, "TLS", failed, &err);
}

/* Check that the socket can be created in its folder, or the folder in its parent. */
static int check_folder(const struct endpoint *endpoint, struct error *err)
{
	char path[sizeof(endpoint->path)];

	strcpy(path, endpoint->path);
	const char *folder = dirname(path);
	int result = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS);
	if (result && errno == ENOENT)
		result = faccessat(AT_FDCWD, dirname(path), W_OK | X_OK, AT_EACCESS);
	if (result)
		return fail_errno(err, "its socket cannot be created; create its directory, or "
				       "choose another endpoint");
	return 0;
}

static void check_endpoints(struct check *check, const struct option_list *endpoints,
			    bool allow_plaintext)
{
	char thing[THING_MAX];
	struct error err;

	for (size_t i = 0; i < endpoints->n; i++) {
		struct endpoint endpoint;
		struct address address;
		int failed = acceptor_address(endpoints->values[i], allow_plaintext, &endpoint,
					      &address, &err);
		if (!failed && endpoint.is_unix)
			failed = check_folder(&endpoint, &err);
		snprintf(thing, sizeof(thing), "endpoint '%s'", endpoints->values[i]);
		check_say(check, NEEDED, thing, failed, &err);
	}
}

void check_system(struct check *check)
{
	check_kernel(check);
	check_capabilities(check);
	check_propagation(check);
}

/* Returns true if a thing that is needed is missing. */
static bool lacks(const struct check *check)
{
	for (const struct check_row *row = check->rows; row; row = row->next)
		if (row->remedy && row->need == NEEDED)
			return true;
	return false;
}

bool check_report(const struct settings *settings, FILE *out)
{
	const struct trust *trust = settings->trust;
	const struct option_list metrics = {(const char *[]){settings->metrics},
					    settings->metrics ? 1 : 0};
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct check check;

	check_begin(&check, settings, &arena, out);
	check_system(&check);
	check_zfs(&check);
	check_trust(&check);
	check_endpoints(&check, &settings->endpoints, trust->tls || trust->insecure);
	check_endpoints(&check, &settings->agent_endpoints, trust->tls || trust->insecure);
	check_endpoints(&check, &metrics, trust->insecure);
	check_optional(&check);
	trust_close(settings->trust);
	return !lacks(&check);
}
