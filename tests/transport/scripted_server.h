/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SCRIPTED_SERVER_H
#define ZCSI_SCRIPTED_SERVER_H

/* A server that sends exactly the bytes of a script, and a client that calls it. It does what the
 * real server cannot be made to do: no answer, garbage, an early close, a refusal. */

#include "tests/cmocka.h"

#include <stdatomic.h>
#include <string.h>

#include "common/clock.h"
#include "tests/transport/frames.h"
#include "tests/transport/looper.h"
#include "transport/client.h"

/* Bytes to send on a connection once so many requests have arrived on it, and on all connections
 * together. */
struct turn {
	unsigned requests, of_all;
	const char *bytes;
	size_t size;
};
/* The script of one connection: send its turns (an empty one ends the list), then close the
 * connection, or keep it open until the client closes it. STAY_UNREAD does not read meanwhile;
 * FLOOD sends the last turn's bytes repeatedly. */
struct script {
	struct turn turns[6];
	enum { LEAVE, STAY, STAY_UNREAD, FLOOD } then;
};

#define SAY(n, text)                                                                               \
	{                                                                                          \
		.requests = n, .bytes = text, .size = sizeof(text) - 1                             \
	}
#define SAY_AFTER_ALL(n, text)                                                                     \
	{                                                                                          \
		.of_all = n, .bytes = text, .size = sizeof(text) - 1                               \
	}
#define SCRIPT(after, ...)                                                                         \
	{                                                                                          \
		.turns = {__VA_ARGS__}, .then = after                                              \
	}
#define PLAY(...)                                                                                  \
	do {                                                                                       \
		static const struct script scripts_[] = {__VA_ARGS__};                             \
		play(scripts_, COUNT(scripts_));                                                   \
	} while (false)

extern struct scripted {
	char endpoint[64], path[40];
	struct limits limits; /* the client's limits; some are shorter than the defaults */
	struct looper looper;
	struct client *client;
	struct arena arena;
	atomic_uint n_connections, n_requests, n_pings;
	/* connections that the server ended, that the client ended */
	atomic_uint n_left, n_hung_up;
} ends;

/* Setup and teardown of each test. The server accepts no connection before play(). */
int scripted_start(void **state);
int scripted_stop(void **state);
/* Accept connections: each plays the next script; when there are no more, the last one is
 * repeated. */
void play(const struct script *scripts, size_t n);

struct client_call *begin(int64_t ms);
enum error_code finish(struct client_call *call, struct error *err);
enum error_code ask(int64_t ms, struct error *err);
/* Wait until *count is at least n, since the other end may take a moment. */
void await_count(const atomic_uint *count, unsigned n);

#endif
