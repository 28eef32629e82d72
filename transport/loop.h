/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LOOP_H
#define ZCSI_LOOP_H

/*
 * The event loop: one thread that owns every socket, timer and HTTP/2 session. Everything here is
 * for that thread, except loop_post, which any thread may call to have work done there.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct loop;
struct loop_timer;
struct event_base;

int loop_new(struct loop **ret, struct error *err);
void loop_free(struct loop *loop);

/* Run until loop_stop, which is for what it runs to call. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* The time of this turn, of which the clock is asked once: for what is counted by the call. */
int64_t loop_now_us(struct loop *loop);

/* Work for the loop; embedded in what it is about. fn may free it. */
struct loop_task {
	void (*fn)(struct loop_task *task);
	struct loop_task *next;
};

void loop_post(struct loop *loop, struct loop_task *task);

/* fn(arg) on the loop whenever the signal arrives. Lasts as long as the loop. */
int loop_on_signal(struct loop *loop, int signum, void (*fn)(void *arg), void *arg,
		   struct error *err);

/* A timer that is not running. loop_timer_start replaces what was set; NULL may be freed. */
struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg);
void loop_timer_free(struct loop_timer *timer);
void loop_timer_start(struct loop_timer *timer, int64_t ms);
void loop_timer_stop(struct loop_timer *timer);
/* fn(arg) once, at the end of this turn: for what is cheaper done for many events at a time. */
void loop_timer_soon(struct loop_timer *timer);

/* libevent's own, for the transport's files. */
struct event_base *loop_base(struct loop *loop);

/*
 * Room to read into and write from, for one event at a time. Not thread-local: that would be
 * cleared, and so become real memory, in every worker.
 */
#define LOOP_BUFFER ((size_t)256 * 1024)
struct loop_buffers {
	uint8_t raw[LOOP_BUFFER];  /* as the socket has it, or as HTTP/2 gives it */
	uint8_t opened[16 * 1024]; /* what a TLS record held */
};
struct loop_buffers *loop_buffers(struct loop *loop);

#endif
