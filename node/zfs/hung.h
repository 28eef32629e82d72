/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_HUNG_H
#define ZCSI_NODE_ZFS_HUNG_H

/*
 * zfs and zpool processes that outlived their timeout, as they do if the pool's devices fail. They
 * are not killed: a signal does not revoke a request to ZFS, and only their end shows that the pool
 * will not change any more.
 *
 * One list per process of zcsi-node. Any thread.
 */

#include "common/error.h"

/*
 * Set the function that hung_report calls; text: the error of the call. Call before the first
 * hung_add.
 */
void hung_watch(void (*report)(void *arg, const char *text), void *arg);
/*
 * Add a process; the pidfd is handed over. Reports it, and returns -1 with ERR_UNAVAILABLE, whose
 * text says what to do.
 */
int hung_add(int pidfd, const char *const *argv, struct error *err);
/* Report a process on another host, whose end cannot be observed. */
void hung_report(const char *text);
/*
 * Reap the processes that have ended. Returns the error text of one that still runs, which the
 * caller frees; NULL if all have ended.
 */
char *hung_text(void);

#endif
