/* SPDX-License-Identifier: MPL-2.0 */
/*
 * statvfs(3) by a thread of its own, since on a mount that is dead it never returns and nothing
 * can make it.
 *
 * Invariant: at most one thread per mount. Who asks while one is out waits for that one's answer,
 * so a dead mount costs one thread however often it is asked about. A question is freed by the
 * last who knows it: its thread or one who waits.
 */
#include "node/usage.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/mem.h"

#define STACK_BYTES (256 << 10)

struct question {
	struct question *next; /* while it is out */
	int mount;             /* the kernel's id of it: a path may have another one by now */
	char *path;
	unsigned users;
	bool answered;
	int error;
	struct statvfs answer;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* all that follows, and questions */
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct question *out;

static void drop(struct question *question)
{
	if (--question->users)
		return;
	free(question->path);
	free(question);
}

static void take_out(const struct question *question)
{
	struct question **link = &out;

	while (*link != question)
		link = &(*link)->next;
	*link = question->next;
}

static void *ask(void *arg)
{
	struct question *question = arg;
	struct statvfs answer = {0};

	pthread_setname_np(pthread_self(), USAGE_THREAD);
	int error = statvfs(question->path, &answer) ? errno : 0;
	auto_unlock pthread_mutex_t *held = lock_take(&mutex);

	question->answer = answer;
	question->error = error;
	question->answered = true;
	take_out(question);
	pthread_cond_broadcast(&answered);
	drop(question);
	return NULL;
}

/* Signals are for the main thread. */
static int start_thread(struct question *question)
{
	pthread_attr_t detached;
	pthread_t thread;
	sigset_t all, old;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&detached, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int error = pthread_create(&thread, &detached, ask, question);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&detached);
	return error;
}

/* With the mutex: the question about this mount that is out, or a new one. */
static struct question *find_or_ask(const struct mount *mount, int *ret_error)
{
	for (struct question *question = out; question; question = question->next)
		if (question->mount == mount->id && !strcmp(question->path, mount->target))
			return question;
	struct question *question = mem_alloc(sizeof(*question));
	*question = (struct question){
		.next = out, .mount = mount->id, .path = mem_strdup(mount->target), .users = 1};
	*ret_error = start_thread(question);
	if (*ret_error) {
		drop(question);
		return NULL;
	}
	out = question;
	return question;
}

int usage_ask(const struct mount *mount, int64_t deadline, struct statvfs *ret)
{
	struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};
	auto_unlock pthread_mutex_t *held = lock_take(&mutex);
	int error = 0;
	struct question *question = find_or_ask(mount, &error);

	if (!question)
		return error;
	question->users++;
	while (!question->answered && error != ETIMEDOUT)
		error = pthread_cond_clockwait(&answered, &mutex, CLOCK_MONOTONIC, &until);
	if (question->answered) {
		error = question->error;
		*ret = question->answer;
	}
	drop(question);
	return error;
}
