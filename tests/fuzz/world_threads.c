/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Simulated threads. A worker thread is entered when the fuzzer lets it run, and left by longjmp()
 * when it would wait for more work: nothing on its stack is needed then.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"

void (*world_meanwhile)(void);

static struct {
	void *(*start)(void *arg);
	void *arg;
	jmp_buf idle;
	bool works;
} worker;

void world_begin(void)
{
	world_end();
}

void world_end(void)
{
	world_check_events();
	world_check_sockets();
	memset(&worker, 0, sizeof(worker));
	world_meanwhile = NULL;
}

void world_work(void)
{
	worker.works = true;
	if (!setjmp(worker.idle))
		worker.start(worker.arg);
	worker.works = false;
}

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes,
			  void *(*start)(void *arg), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes,
			  void *(*start)(void *arg), void *arg)
{
	(void)attributes;
	worker.start = start;
	worker.arg = arg;
	*ret = pthread_self();
	return 0;
}

int __wrap_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret)
{
	(void)thread;
	(void)ret;
	return 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	(void)condition;
	MUST(worker.works);
	pthread_mutex_unlock(mutex);
	longjmp(worker.idle, 1);
}

int __wrap_sem_wait(sem_t *semaphore);
int __wrap_sem_wait(sem_t *semaphore)
{
	while (sem_trywait(semaphore) < 0)
		world_meanwhile();
	return 0;
}
