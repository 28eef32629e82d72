/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_SSH_H
#define ZCSI_NODE_ZFS_SSH_H

/*
 * The server of --zfs-over-ssh: a host whose pool this zcsi-node manages by running zfs and zpool
 * there over ssh. No part of zcsi is installed on it. One server per process. Any thread.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/mem.h"

/* An exit status above SSH_LOST is of ssh itself, not of the remote command. */
#define SSH_LOST   128
#define SSH_KILLED 125 /* exit status if a signal ended the remote command */

/*
 * Set the server, "USER@HOST"; NULL: none, the pool is on this host. Returns 0, or -1 with
 * ERR_INVALID_ARGUMENT if the text has another form. Call once, before the first thread.
 */
int ssh_to(const char *server, struct error *err);
/* Returns the server, "USER@HOST"; NULL: the pool is on this host. */
const char *ssh_server(void);
/* Returns true if the server's kernel has ZFS. Valid after ssh_settle has succeeded. */
bool ssh_server_is_the_kernels(void);
/* Returns the uid of USER on the server. Valid after ssh_settle has succeeded. */
uid_t ssh_server_uid(void);

/* Returns the command line of this host that runs argv on the server, in the arena. */
const char *const *ssh_argv(struct arena *arena, const char *const *argv);
/*
 * Wait until every earlier command on the server has ended; call before each command. Returns 0, or
 * -1 with ERR_UNAVAILABLE if one may still be running, or the server cannot be reached. Blocks for
 * 40 s at most. stop: a descriptor that ends the wait for the server with ERR_CANCELLED once it is
 * readable; 0: none.
 */
int ssh_settle(int stop, struct error *err);
/*
 * Record that the end of this command was not observed, so the next ssh_settle waits for it. Its
 * error texts name the command until it succeeds.
 */
void ssh_note_unknown(const char *const *argv);
/*
 * Call ssh_note_unknown for a command during which ssh lost the connection. output: the error
 * output of ssh. Returns -1 with ERR_UNAVAILABLE and a text that quotes ssh and says what to do.
 */
int ssh_lose(const char *const *argv, const char *output, struct error *err);

#endif
