/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_SCRIPTED_SERVER_H
#define ZCSI_SCRIPTED_SERVER_H

/*
 * A server that says what a test has written down, byte by byte, and a client that asks it. What
 * our own server cannot be made to do: be silent, talk garbage, leave half way, refuse.
 */

#include "tests/cmocka.h"

#include <stdatomic.h>
#include <string.h>

#include "common/clock.h"
#include "tests/transport/frames.h"
#include "tests/transport/looper.h"
#include "transport/client.h"

/* What it says on a connection when so many requests have come on it, and on all together. */
struct turn {
	unsigned requests, of_all;
	const char *bytes;
	size_t size;
};
/*
 * What it does with one connection: take its turns, the last one empty, then close it, or stay
 * until the client goes, without reading, or flooding it with the last turn's bytes meanwhile.
 */
struct script {
	struct turn turns[6];
	enum { LEAVE, STAY, STAY_DEAF, FLOOD } then;
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
	struct limits limits; /* the client's; some are shorter than in service */
	struct looper looper;
	struct client *client;
	struct arena arena;
	atomic_uint n_connections, n_requests, n_pings;
	atomic_uint n_left, n_hung_up; /* connections ended by the server, by the client */
} ends;

/* For each test: nothing is played yet, so that nobody accepts. */
int scripted_start(void **state);
int scripted_stop(void **state);
/* Each connection follows the next script, those after the last one the last one. */
void play(const struct script *scripts, size_t n);

struct client_call *begin(int64_t ms);
enum error_code finish(struct client_call *call, struct error *err);
enum error_code ask(int64_t ms, struct error *err);
/* For what the other end does soon but not at once. */
void await_count(const atomic_uint *count, unsigned n);

#endif
