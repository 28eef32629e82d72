/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The event loop: libevent's core without locks, and a mailbox for tasks of other threads.
 *
 * Invariant: the eventfd is written once for each time the mailbox goes from empty to not empty,
 * and the loop takes all tasks of the mailbox at once, in order of arrival.
 */
#include "transport/loop.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

#define SIGNALS_MAX 8

struct loop {
	struct event_base *base;
	int mailbox_fd;
	struct event *mailbox;
	pthread_mutex_t lock;
	struct loop_task *first, **last;
	struct loop_signal {
		struct event *event;
		void (*fn)(void *arg);
		void *arg;
	} signals[SIGNALS_MAX];
	unsigned n_signals;
	int64_t now_us;              /* time of this turn; 0: not read yet */
	struct loop_buffers buffers; /* last member, because most of its pages are never used */
};

struct loop_timer {
	struct event *event;
	void (*fn)(void *arg);
	void *arg;
};

static struct loop_task *take_all(struct loop *loop)
{
	scoped_lock(&loop->lock);
	struct loop_task *tasks = loop->first;

	loop->first = NULL;
	loop->last = &loop->first;
	return tasks;
}

static void on_mailbox(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	eventfd_t count;

	(void)what;
	eventfd_read(fd, &count);
	for (struct loop_task *task = take_all(loop), *next; task; task = next) {
		next = task->next;
		task->fn(task);
	}
}

void loop_post(struct loop *loop, struct loop_task *task)
{
	scoped_lock(&loop->lock);

	task->next = NULL;
	if (!loop->first)
		eventfd_write(loop->mailbox_fd, 1);
	*loop->last = task;
	loop->last = &task->next;
}

bool loop_withdraw(struct loop *loop, struct loop_task *task)
{
	scoped_lock(&loop->lock);

	for (struct loop_task **at = &loop->first; *at; at = &(*at)->next) {
		if (*at != task)
			continue;
		*at = task->next;
		if (!*at)
			loop->last = at;
		return true;
	}
	return false;
}

/*
 * Give libevent our allocator, which aborts the process when out of memory (common/mem.h). The
 * limits of the transport bound the memory of libevent.
 */
static void give_memory(void)
{
	event_set_mem_functions(mem_alloc, mem_resize, free);
}

static struct event_base *base_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, give_memory);
	struct event_config *config = event_config_new();
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	struct event_base *base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

int loop_new(struct loop **ret, struct error *err)
{
	struct loop *loop = mem_alloc(sizeof(*loop));

	pthread_mutex_init(&loop->lock, NULL);
	loop->last = &loop->first;
	loop->mailbox_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->base = loop->mailbox_fd < 0 ? NULL : base_new();
	if (!loop->base) {
		fail_errno(err, "cannot make an event loop");
		loop_free(loop);
		return -1;
	}
	loop->mailbox =
		event_new(loop->base, loop->mailbox_fd, EV_READ | EV_PERSIST, on_mailbox, loop);
	event_add(loop->mailbox, NULL);
	*ret = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	for (unsigned i = 0; i < loop->n_signals; i++)
		event_free(loop->signals[i].event);
	if (loop->mailbox)
		event_free(loop->mailbox);
	if (loop->base)
		event_base_free(loop->base);
	if (loop->mailbox_fd >= 0)
		close(loop->mailbox_fd);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}

void loop_run(struct loop *loop)
{
	do
		loop->now_us = 0;
	while (event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) == 0 &&
	       !event_base_got_break(loop->base));
}

int64_t loop_now_us(struct loop *loop)
{
	if (!loop->now_us)
		loop->now_us = now_us();
	return loop->now_us;
}

void loop_stop(struct loop *loop)
{
	event_base_loopbreak(loop->base);
}

struct event_base *loop_base(struct loop *loop)
{
	return loop->base;
}

struct loop_buffers *loop_buffers(struct loop *loop)
{
	return &loop->buffers;
}

static void on_signal(evutil_socket_t signum, short what, void *arg)
{
	struct loop_signal *signal = arg;

	(void)signum;
	(void)what;
	signal->fn(signal->arg);
}

int loop_on_signal(struct loop *loop, int signum, void (*fn)(void *arg), void *arg,
		   struct error *err)
{
	if (loop->n_signals == SIGNALS_MAX)
		return fail(err, ERR_INTERNAL, "more than %d signals", SIGNALS_MAX);
	struct loop_signal *signal = &loop->signals[loop->n_signals];

	*signal = (struct loop_signal){.fn = fn, .arg = arg};
	signal->event = evsignal_new(loop->base, signum, on_signal, signal);
	if (!signal->event || event_add(signal->event, NULL) < 0)
		return fail(err, ERR_INTERNAL, "cannot watch signal %d", signum);
	loop->n_signals++;
	return 0;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *timer = arg;

	(void)fd;
	(void)what;
	timer->fn(timer->arg);
}

struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg)
{
	struct loop_timer *timer = mem_alloc(sizeof(*timer));

	timer->fn = fn;
	timer->arg = arg;
	timer->event = evtimer_new(loop->base, on_timer, timer);
	return timer;
}

void loop_timer_free(struct loop_timer *timer)
{
	if (!timer)
		return;
	event_free(timer->event);
	free(timer);
}

void loop_timer_start(struct loop_timer *timer, int64_t ms)
{
	struct timeval after = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	evtimer_add(timer->event, &after);
}

void loop_timer_stop(struct loop_timer *timer)
{
	evtimer_del(timer->event);
}

void loop_timer_soon(struct loop_timer *timer)
{
	event_active(timer->event, EV_TIMEOUT, 0);
}
