/* SPDX-License-Identifier: MPL-2.0 */
/*
 * What stands before zfs and zpool on their command lines.
 *
 * Invariant: node/zfs/zfs_run.c asks here for each of them, so none runs as anybody else or elsewhere,
 * but for what mounts here, which is zcsi-node's own. setpriv(1) becomes the program, so that is
 * still our child and has the descriptors that we gave it. Without root it has no capability, and
 * gets none.
 */
#include "node/zfs/argv.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "node/zfs/ssh.h"

static char uid[32], gid[32];
static const char *const as_user[] = {"setpriv", uid, gid, "--init-groups", "--"};
static uid_t delegate; /* 0: as we do */

int argv_run_as(const char *user, struct error *err)
{
	if (!user)
		return 0;
	const struct passwd *entry = getpwnam(user);
	if (!entry)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--zfs-user '%.64s' is no user of this host; make it with 'useradd "
			    "--system %.64s'",
			    user, user);
	snprintf(uid, sizeof(uid), "--reuid=%u", entry->pw_uid);
	snprintf(gid, sizeof(gid), "--regid=%u", entry->pw_gid);
	delegate = entry->pw_uid;
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

/* zfs-fuse's zfs looks at where it mounts. With the kernel's we mount without it. */
static bool is_ours(const char *const *argv)
{
	return !strcmp(argv[1], "mount");
}

const char *const *argv_complete(struct arena *arena, const char *const *argv)
{
	if (ssh_server())
		return ssh_argv(arena, argv);
	size_t n = 0, before = delegate && !is_ours(argv) ? COUNT(as_user) : 0;

	while (argv[n])
		n++;
	const char **all = arena_alloc(arena, (before + n + 1) * sizeof(*all));
	for (size_t i = 0; i < before; i++)
		all[i] = as_user[i];
	for (size_t i = 0; i < n; i++)
		all[before + i] = argv[i];
	return all;
}
