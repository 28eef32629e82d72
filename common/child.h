/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CHILD_H
#define ZCSI_CHILD_H

/*
 * A child process, for common/exec.c and common/follow.c. It is started from an argv without a
 * shell, with LC_ALL=C, in a process group of its own, with all signals at their defaults, and
 * inherits only the descriptors given to child_start. Any thread.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

struct child {
	pid_t pid;
	int pidfd;      /* readable once the child has ended */
	int out, error; /* read ends of the pipes from its stdout and stderr; -1 once closed */
};

/* Greater than any exit status: zfs exits with 255 when it cannot load a key. */
#define CHILD_SIGNALLED 256

#define CHILD_NONE                                                                                 \
	{                                                                                          \
		.pidfd = -1, .out = -1, .error = -1                                                \
	}

/*
 * Start a program. in becomes its stdin. keep, unless 0, becomes its descriptor 3. Both stay open
 * in the caller. Returns -1 if it was not started, with ERR_FAILED_PRECONDITION if it is not
 * installed.
 */
int child_start(struct child *child, const char *const *argv, int in, int keep, struct error *err);
/* True once the child has ended. Does not block. */
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
 * Wait until no starting child has a copy of a descriptor that the caller closed before. A starting
 * child has copies of all our descriptors until it executes its program.
 */
void child_settle(void);
/* Close the pipes and the pidfd. Call child_reap or child_kill before. */
void child_fini(struct child *child);

#endif
