/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_THREAD_H
#define ZCSI_THREAD_H

#include <pthread.h>

/*
 * Start a thread as pthread_create(3) does, with all signals blocked: the main thread handles them.
 * attributes may be NULL. Returns 0, or -1 with errno.
 */
int thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *), void *arg);
/*
 * The same for a detached thread with a stack of 256 KiB, which is enough for a system call or for
 * getaddrinfo(3).
 */
int thread_start_detached(void *(*run)(void *), void *arg);

#endif
