/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_STREAM_ENDS_H
#define ZCSI_TEST_STREAM_ENDS_H

/* Streaming calls with server and client in one process, each on a loop of its own. A test defines
 * beforehand what each side does; the side records what happened. */

#include "tests/cmocka.h"

#include <stdbool.h>

#include "tests/transport/echo.h"
#include "tests/transport/looper.h"
#include "transport/client_stream.h"
#include "transport/server.h"

#define ECHO (&zcsi__test__echo__descriptor)

/* When a side finishes its stream: never, after all own messages, or after the other side's end
 * too. */
enum ending { NEVER, WHEN_SENT, WHEN_RECEIVED };

struct side {
	/* set by the test */
	unsigned to_send;     /* number of messages to send, numbered from 0 */
	size_t size;          /* bytes of text in each message */
	bool answers;         /* send one per received message, not all at once */
	enum ending ends;     /* when the side finishes the stream */
	unsigned pause_after; /* pause the stream after so many messages; 0: never */
	unsigned fail_after;  /* fail with `code` after so many messages */
	enum error_code code;
	bool single; /* the side expects exactly one message */

	/* results; written by the loop until closed is posted */
	struct looper *looper;
	struct rpc_stream *stream;
	unsigned sent, received;
	bool disorder;        /* a message was not the next one */
	bool ended;           /* the other side has ended */
	struct error outcome; /* valid once the stream is closed */
	sem_t begun, full, paused, closed;
};

extern struct ends {
	struct limits server_limits, client_limits;
	struct looper server_loop, client_loop;
	struct server *server;
	struct client *client;
	struct side at_server, at_client;
	rpc_open_fn *script; /* handler of the call; NULL: the server plays at_server */
} ends;

/* Setup and teardown for cmocka. Limits may be changed before ends_restart(). */
int ends_start(void **state);
int ends_stop(void **state);
void ends_restart(void);
/* ends_begin_drain() asks the server to stop; ends_drain() also waits for it; ends_kill() stops it
 * without notice. */
void ends_begin_drain(void);
void ends_drain(void);
void ends_kill(void);

/* Begin a call whose two sides behave as given. call_end() waits until both sides are closed, and
 * asserts their codes. */
void call_begin(const struct side *server, const struct side *client, int64_t deadline);
void call_end(enum error_code server, enum error_code client);

/* Run fn(side) on the loop of the side, unless its stream is closed. */
void side_do(struct side *side, void (*fn)(struct side *side));
/* Actions of a side, to be passed to side_do(). */
void send_all(struct side *side);
void finish(struct side *side);
void give_up(struct side *side);
void resume(struct side *side);

#endif
