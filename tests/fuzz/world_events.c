/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The clock, and the part of libevent that the transport uses, with the same contracts. A
 * descriptor is ready when world_sockets.c says so, not the kernel.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/mem.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/world.h"
#include "transport/loop.h"

#define FIRST_MS  1000000
#define TURNS_MAX 10000 /* limit of turns until no event is ready */

struct event {
	struct event *next;
	evutil_socket_t fd;
	short what;
	event_callback_fn fn;
	void *arg;
	bool added;
	short active; /* activated by event_active(), whatever the descriptor's state */
	int64_t due;  /* time of the timeout in ms; NO_DEADLINE: no timeout */
};

struct event_base {
	struct event *events;
};

static struct event_base base;
static int64_t now;

/* The simulated clock. */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){.tv_sec = now / 1000, .tv_nsec = now % 1000 * 1000000};
	return 0;
}

/* Replaces the loop's clock by the simulated one, which stands still during a turn. */
int64_t __wrap_loop_now_us(struct loop *loop);
int64_t __wrap_loop_now_us(struct loop *loop)
{
	(void)loop;
	return now * 1000;
}

int64_t world_now_ms(void)
{
	return now;
}

/* The functions of libevent that the transport calls. */

void event_set_mem_functions(void *(*alloc)(size_t size),
			     void *(*resize)(void *memory, size_t size),
			     void (*give_back)(void *memory))
{
	(void)alloc;
	(void)resize;
	(void)give_back;
}

struct event_config *event_config_new(void)
{
	return mem_alloc(1);
}

int event_config_set_flag(struct event_config *config, int flag)
{
	(void)config;
	(void)flag;
	return 0;
}

void event_config_free(struct event_config *config)
{
	free(config);
}

struct event_base *event_base_new_with_config(const struct event_config *config)
{
	(void)config;
	return &base;
}

void event_base_free(struct event_base *freed)
{
	MUST(freed == &base && !base.events);
}

int event_base_loop(struct event_base *unused, int flags)
{
	(void)unused;
	(void)flags;
	abort();
}

int event_base_loopbreak(struct event_base *unused)
{
	(void)unused;
	return 0;
}

int event_base_got_break(struct event_base *unused)
{
	(void)unused;
	return 1;
}

struct event *event_new(struct event_base *of, evutil_socket_t fd, short what, event_callback_fn fn,
			void *arg)
{
	struct event *event = mem_alloc(sizeof(*event));

	*event = (struct event){.next = of->events,
				.fd = fd,
				.what = what,
				.fn = fn,
				.arg = arg,
				.due = NO_DEADLINE};
	return of->events = event;
}

void event_free(struct event *event)
{
	struct event **link = &base.events;

	while (*link != event)
		link = &(*link)->next;
	*link = event->next;
	free(event);
}

int event_add(struct event *event, const struct timeval *timeout)
{
	event->added = true;
	if (timeout)
		event->due = now + timeout->tv_sec * 1000 + timeout->tv_usec / 1000;
	return 0;
}

void event_active(struct event *event, int what, short calls)
{
	(void)calls;
	event->active |= (short)what;
}

int event_del(struct event *event)
{
	event->added = false;
	event->active = 0;
	event->due = NO_DEADLINE;
	return 0;
}

/* Handling of ready events, and the passing of time. */

static short ready(const struct event *event)
{
	if (event->active)
		return event->active;
	if (!event->added)
		return 0;
	if (event->due <= now)
		return EV_TIMEOUT;
	if (event->what & EV_READ && world_is_readable(event->fd))
		return EV_READ;
	if (event->what & EV_WRITE && world_is_writable(event->fd))
		return EV_WRITE;
	return 0;
}

static bool turn_once(void)
{
	struct event *event = base.events;

	while (event && !ready(event))
		event = event->next;
	if (!event)
		return false;
	short what = ready(event);
	if (!(event->what & EV_PERSIST))
		event->added = false;
	event->active = 0;
	event->due = NO_DEADLINE;
	event->fn(event->fd, what, event->arg);
	return true;
}

void world_turn(void)
{
	unsigned turns = 0;

	while (turn_once())
		MUST(++turns < TURNS_MAX);
}

static int64_t next_due(void)
{
	int64_t next = NO_DEADLINE;

	for (const struct event *event = base.events; event; event = event->next)
		if (event->added && event->due < next)
			next = event->due;
	return next;
}

void world_pass(int64_t ms)
{
	int64_t until = now + ms;
	unsigned timers = 0;

	for (world_turn(); next_due() <= until; world_turn()) {
		MUST(++timers < TURNS_MAX);
		now = next_due();
	}
	now = until;
}

void world_check_events(void)
{
	MUST(!base.events);
	now = FIRST_MS;
}
