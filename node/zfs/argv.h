/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ARGV_H
#define ZCSI_NODE_ZFS_ARGV_H

/*
 * The complete command lines of zfs(8) and zpool(8). They run as the user of zcsi-node, as a user
 * with rights from `zfs allow` (--zfs-user), or on another host (node/zfs/ssh.h).
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/mem.h"

/*
 * Run all following commands as this user; NULL: as the user of zcsi-node. Returns 0, or -1 with
 * ERR_INVALID_ARGUMENT if the user does not exist. Call once, before the first thread.
 */
int argv_run_as(const char *user, struct error *err);
/* Returns the user that owns the root directory of a filesystem that `zfs create` creates. */
uid_t argv_uid(void);
/* Returns true if the commands run on this host and as the user of zcsi-node. */
bool argv_is_plain(void);
/* Returns the command line preceded by setpriv(1) or ssh(1) if needed, in the arena. Any thread. */
const char *const *argv_complete(struct arena *arena, const char *const *argv);

#endif
