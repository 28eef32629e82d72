/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The number of detached threads that run. A test program in which only lookups start such threads
 * includes this file once.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "common/thread.h"

static atomic_uint threads;
static void *(*work)(void *arg); /* function of all threads, set before the first one starts */

static void *counted(void *arg)
{
	work(arg);
	threads--;
	return NULL;
}

int __wrap_thread_start_detached(void *(*run)(void *), void *arg);
int __real_thread_start_detached(void *(*run)(void *), void *arg);
int __wrap_thread_start_detached(void *(*run)(void *), void *arg)
{
	if (!work)
		work = run;
	threads++;
	return __real_thread_start_detached(counted, arg);
}
