/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ARGV_H
#define ZCSI_NODE_ZFS_ARGV_H

/*
 * As whom, and where, zfs(8) and zpool(8) run: as we do, as a user to whom `zfs allow` has given
 * rights, or on another host (node/zfs/ssh.h).
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/mem.h"

/* All that run from now on run as this user; NULL: as we do. Once, before the first thread. */
int argv_run_as(const char *user, struct error *err);
/* Whose the root directory of a filesystem is that one of them makes. */
uid_t argv_uid(void);
/* As we do, and here. */
bool argv_is_plain(void);
/* A command line of one of them, with what is to stand before it; both in the arena. */
const char *const *argv_complete(struct arena *arena, const char *const *argv);

#endif
