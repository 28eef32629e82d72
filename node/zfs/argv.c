/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The words that precede zfs and zpool on their command lines.
 *
 * Invariant: zfs_run.c completes every command line by argv_complete, so all run as the same user
 * and on the same host; only `zfs mount` and `zfs diff` always run as the user of zcsi-node.
 * setpriv(1) executes the program in its own process, which therefore stays a child of zcsi-node
 * and keeps the inherited descriptors. It drops all capabilities, because the user is not root.
 */
#include "node/zfs/argv.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "node/zfs/ssh.h"

static char uid[32], gid[32];
static const char *const as_user[] = {"setpriv", uid, gid, "--init-groups", "--"};
static uid_t delegate; /* the uid of --zfs-user; 0: not given */

int argv_run_as(const char *user, struct error *err)
{
	if (!user)
		return 0;
	const struct passwd *record = getpwnam(user);
	if (!record)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--zfs-user '%.64s' is not a user of this host; create it with "
			    "'useradd --system %.64s'",
			    user, user);
	snprintf(uid, sizeof(uid), "--reuid=%u", record->pw_uid);
	snprintf(gid, sizeof(gid), "--regid=%u", record->pw_gid);
	delegate = record->pw_uid;
	return 0;
}

uid_t argv_uid(void)
{
	return ssh_server() ? ssh_server_uid() : delegate;
}

bool argv_is_plain(void)
{
	return !delegate && !ssh_server();
}

/*
 * Returns true for `zfs mount`, which only zfs-fuse uses, and which checks the mountpoint with the
 * rights of its own user; and for `zfs diff`, which looks into the mounted datasets with them.
 */
static bool needs_root(const char *const *argv)
{
	return !strcmp(argv[1], "mount") || !strcmp(argv[1], "diff");
}

const char *const *argv_complete(struct arena *arena, const char *const *argv)
{
	if (ssh_server())
		return ssh_argv(arena, argv);
	size_t n = 0, before = delegate && !needs_root(argv) ? COUNT(as_user) : 0;

	while (argv[n])
		n++;
	const char **all = arena_alloc(arena, (before + n + 1) * sizeof(*all));
	for (size_t i = 0; i < before; i++)
		all[i] = as_user[i];
	for (size_t i = 0; i < n; i++)
		all[before + i] = argv[i];
	return all;
}
