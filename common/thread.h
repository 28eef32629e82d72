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
 * Start a detached thread, also with all signals blocked. Its stack of 256 KiB is enough for a
 * system call or for getaddrinfo(3). Returns 0, or -1 with errno.
 */
int thread_start_detached(void *(*run)(void *), void *arg);

#endif
