/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Starting a thread.
 *
 * Invariant: a new thread has every signal blocked from its first instruction, because it inherits
 * the mask of the thread that starts it.
 */
#include "common/thread.h"

#include <errno.h>
#include <signal.h>

#define STACK_BYTES ((size_t)256 << 10)

int thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(ret, attributes, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errno ? -1 : 0;
}

int thread_start_detached(void *(*run)(void *), void *arg)
{
	pthread_attr_t attributes;
	pthread_t ignored;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	int failed = thread_start(&ignored, &attributes, run, arg);
	pthread_attr_destroy(&attributes);
	return failed;
}
