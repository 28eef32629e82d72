/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_BOUNDED_CALL_H
#define ZCSI_BOUNDED_CALL_H

/*
 * A system call that may never return, as on a mount whose server is dead. A thread of its own
 * makes the call, and the caller waits for it until a deadline. Any thread.
 */

#include <stdint.h>

struct bounded_call {
	const char *thread; /* its name in `ps -L`; 15 bytes at most */
	const char *key;    /* calls with the same key run one at a time */
	void (*run)(void *work);
	/* Frees the work, and undoes what run did: called by the thread after a timeout. */
	void (*discard)(void *work);
	void *work;
};

/*
 * Run a call. Returns 0 when it ended in time, and the work is the caller's again. Otherwise the
 * work is not the caller's any more, and an errno is returned: ETIMEDOUT when the call, or another
 * one with its key, still ran at the deadline; others when no thread could be started.
 */
int bounded_call_run(const struct bounded_call *call, int64_t deadline);

#endif
