/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_BOUNDED_CALL_H
#define ZCSI_BOUNDED_CALL_H

/*
 * A system call that may hang, such as statvfs(3) on a mount whose server does not answer. A thread
 * of its own makes the call, and the caller waits for it until a deadline. Any thread.
 */

#include <stdint.h>

struct bounded_call {
	const char *thread; /* name of the thread in `ps -L`; 15 bytes at most */
	const char *key;    /* calls with the same key run one at a time */
	void (*run)(void *work);
	/* Free the work and undo what run did, if it began. Called if bounded_call_run fails. */
	void (*discard)(void *work);
	void *work; /* argument of run and discard */
};

/*
 * Run a call. Returns 0 if it ended before the deadline (now_ms()); the caller owns the work again.
 * Otherwise returns an errno, and the work is or will be discarded: ETIMEDOUT if the call, or
 * another one with its key, still ran at the deadline; another errno if no thread could start.
 */
int bounded_call_run(const struct bounded_call *call, int64_t deadline);

#endif
