/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_THREAD_H
#define ZCSI_THREAD_H

#include <pthread.h>

/*
 * pthread_create(3), without any signal: those are for the main thread. attributes may be NULL.
 * -1 with errno.
 */
int thread_start(pthread_t *ret, const pthread_attr_t *attributes, void *(*run)(void *), void *arg);

#endif
