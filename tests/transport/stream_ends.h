/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_STREAM_ENDS_H
#define ZCSI_TEST_STREAM_ENDS_H

/*
 * Streaming calls with both ends in one process, each on a loop of its own. What either side of a
 * call does, a test says beforehand; what happens to it is written down.
 */

#include "tests/cmocka.h"

#include <stdbool.h>

#include "tests/transport/echo.h"
#include "tests/transport/looper.h"
#include "transport/client_stream.h"
#include "transport/server.h"

#define ECHO (&zcsi__test__echo__descriptor)

enum ending { NEVER, WHEN_SAID, WHEN_HEARD }; /* all there is to say, or to hear as well */

struct side {
	/* beforehand */
	unsigned says;    /* messages, numbered from 0 */
	size_t size;      /* of the text in each */
	bool answers;     /* one for each that it hears, not all at once */
	enum ending ends; /* when it finishes */
	unsigned holds;   /* the stream, when it has heard so many; 0: never */
	unsigned fails;   /* with its code, when it has heard so many */
	enum error_code code;
	bool single; /* wants exactly one message */

	/* afterwards; the loop's until closed */
	struct looper *looper;
	struct rpc_stream *stream;
	unsigned said, heard;
	bool disorder;        /* a message was not the next */
	bool ended;           /* the other side has */
	struct error outcome; /* of a stream that is closed */
	sem_t begun, full, held, closed;
};

extern struct ends {
	struct limits server_limits, client_limits;
	struct looper server_loop, client_loop;
	struct server *server;
	struct client *client;
	struct side at_server, at_client;
	rpc_open_fn *script; /* what a call does at the server, if not what its side says */
} ends;

/* For cmocka. The limits may be changed before ends_restart. */
int ends_start(void **state);
int ends_stop(void **state);
void ends_restart(void);
/* Tell the server to stop; wait until it has; or stop it without a word. */
void ends_begin_drain(void);
void ends_drain(void);
void ends_kill(void);

/* Begin a call with two sides like these, and wait until both have heard that it is closed. */
void call_begin(const struct side *server, const struct side *client, int64_t deadline);
void call_end(enum error_code server, enum error_code client);

/* fn(side) on its loop. */
void side_do(struct side *side, void (*fn)(struct side *side));
/* For that. */
void say(struct side *side);
void finish(struct side *side);
void give_up(struct side *side);
void resume(struct side *side);

#endif
