/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_SSH_H
#define ZCSI_NODE_ZFS_SSH_H

/*
 * The server whose pool is ours to work on, where nothing of ours is installed (--zfs-over-ssh):
 * zfs and zpool run there. One a process; any thread.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/mem.h"

/* Exit statuses above this one are ssh's own, not those of the remote command. */
#define SSH_LOST 128

/* USER@HOST; NULL: none. Once, before the first thread. */
int ssh_to(const char *server, struct error *err);
/* NULL: the pool is this host's. */
const char *ssh_server(void);
/* Returns true if the server's kernel has ZFS. Valid after ssh_settle has succeeded. */
bool ssh_server_is_the_kernels(void);
/* The USER's there; likewise. */
uid_t ssh_server_uid(void);

/* A command line there as one of ours, in the arena. */
const char *const *ssh_argv(struct arena *arena, const char *const *argv);
/*
 * Before each of them: -1, ERR_UNAVAILABLE, while something may yet be done there that we have not
 * seen the end of. Blocks.
 */
int ssh_settle(struct error *err);
/* This one has an end that we did not see: every error of ssh_settle says so until it succeeds. */
void ssh_doubt(const char *const *argv);
/* The same, when ssh was lost: always -1 with ERR_UNAVAILABLE, what ssh said last, what to do. */
int ssh_lose(const char *const *argv, const char *said, struct error *err);

#endif
