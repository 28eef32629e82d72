/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CHILD_H
#define ZCSI_CHILD_H

/*
 * A program beside us, for common/exec.c and common/follow.c: an argv, never a shell; LC_ALL=C; a
 * process group of its own. No descriptor of ours but those it is given goes to it, and every
 * signal is at its default.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

struct child {
	pid_t pid;
	int pidfd;      /* can be read when it has ended */
	int out, error; /* our ends of the pipes at its stdout and stderr; -1 once closed */
};

/* Greater than any exit status: zfs exits with 255 when it cannot load a key. */
#define CHILD_SIGNALLED 256

#define CHILD_NONE                                                                                 \
	{                                                                                          \
		.pidfd = -1, .out = -1, .error = -1                                                \
	}

/*
 * in: what it has as stdin. keep: what it has beside the three, until it ends; 0: nothing. -1:
 * nothing runs; ERR_FAILED_PRECONDITION names what is missing.
 */
int child_start(struct child *child, const char *const *argv, int in, int keep, struct error *err);
bool child_has_ended(const struct child *child);
/*
 * Wait for the end of the child. Returns its status: the exit status, or CHILD_SIGNALLED plus the
 * number of the signal that ended it. Returns -1 with errno on failure.
 */
int child_reap(struct child *child);
/* Returns the signal that a status reports, or 0 if the program exited by itself. */
static inline int child_signal(int status)
{
	return status > CHILD_SIGNALLED ? status - CHILD_SIGNALLED : 0;
}
/*
 * Kill the child's process group with SIGKILL and wait for it, a second at most. Returns as
 * child_reap does.
 */
int child_kill(struct child *child);
/*
 * Returns when no child that starts has a copy of a descriptor that was closed before: one has all
 * of ours until its program is run.
 */
void child_settle(void);
/* Closes what is open. It is for child_reap or child_kill to end it. */
void child_fini(struct child *child);

#endif
