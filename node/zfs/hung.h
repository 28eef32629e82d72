/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_HUNG_H
#define ZCSI_NODE_ZFS_HUNG_H

/*
 * The zfs and zpool that did not end in time, as where the pool's devices are gone. They are not
 * killed: a signal takes nothing back of what ZFS was asked for, and whether it was done is known
 * when they have ended.
 *
 * One list a process; any thread.
 */

#include "common/error.h"

/* What is told of each that is added, by the thread that adds it. Before the first. */
void hung_watch(void (*tell)(void *arg, const char *text), void *arg);
/* Takes the pidfd. Always -1 with ERR_UNAVAILABLE: which one, and what may be done about it. */
int hung_add(int pidfd, const char *const *argv, struct error *err);
/* The same is told of one whose end nobody will see. */
void hung_tell(const char *text);
/* The same text for one that still runs, the caller's to free; NULL: all have ended. */
char *hung_text(void);

#endif
