/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ERRAND_H
#define ZCSI_ERRAND_H

/*
 * A system call that may never return, as on a mount whose server is dead, is sent on an errand: a
 * thread of its own makes it, and whoever sent it waits no longer than it can. Any thread.
 */

#include <stdint.h>

struct errand {
	const char *thread; /* what `ps -L` calls it; 15 bytes at most */
	const char *key;    /* one errand at a time has it; the others wait for its end */
	void (*run)(void *work);
	/* Frees the work, and undoes what it did: for the thread that comes back too late. */
	void (*discard)(void *work);
	void *work;
};

/*
 * 0: it has run, and the work is the caller's again. ETIMEDOUT: it has not, by the deadline, and
 * will be discarded; or another errand with its key is still out. Other errnos: no thread. When it
 * is not 0 the work is not the caller's any more.
 */
int errand_run(const struct errand *errand, int64_t deadline);

#endif
