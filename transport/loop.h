/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_LOOP_H
#define ZCSI_LOOP_H

/*
 * The event loop: one thread owns every socket, timer and HTTP/2 session. Every function here is
 * for that thread, except loop_post, by which any thread runs a task on the loop.
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

/* Run events and tasks until loop_stop is called by one of them. */
void loop_run(struct loop *loop);
/* Make loop_run return after the current callback. */
void loop_stop(struct loop *loop);
/* Returns now_us() as of this turn, read once per turn: cheap enough for every call. */
int64_t loop_now_us(struct loop *loop);

/* A task for the loop, embedded in the structure that it is about. fn may free it. */
struct loop_task {
	void (*fn)(struct loop_task *task);
	struct loop_task *next;
};

/* Run task->fn(task) once on the loop. Any thread; tasks run in the order of their posting. */
void loop_post(struct loop *loop, struct loop_task *task);
/* Take back a posted task. Returns false if the loop has taken it, and runs it in this turn. */
bool loop_withdraw(struct loop *loop, struct loop_task *task);

/* Call fn(arg) on the loop for each arrival of the signal, until loop_free. */
int loop_on_signal(struct loop *loop, int signum, void (*fn)(void *arg), void *arg,
		   struct error *err);

/* Returns a stopped timer that calls fn(arg) once when it expires. */
struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg);
/* Stop and free a timer. Does nothing for NULL. */
void loop_timer_free(struct loop_timer *timer);
/* Start a timer, or restart a running one, to expire in ms. */
void loop_timer_start(struct loop_timer *timer, int64_t ms);
void loop_timer_stop(struct loop_timer *timer);
/* Call fn(arg) once at the end of this turn, to handle the events of a turn together. */
void loop_timer_soon(struct loop_timer *timer);

/* Returns the event base of libevent, for files of the transport. */
struct event_base *loop_base(struct loop *loop);

/*
 * Buffers for reading and writing, shared by all connections and used within one event. They are
 * not thread-local because every worker thread would get a cleared copy, and so use the memory.
 */
#define LOOP_BUFFER ((size_t)256 * 1024)
struct loop_buffers {
	uint8_t raw[LOOP_BUFFER];  /* bytes as read from the socket, or output of nghttp2 */
	uint8_t opened[16 * 1024]; /* the decrypted contents of a TLS record */
};
struct loop_buffers *loop_buffers(struct loop *loop);

#endif
