/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_ALL_KINDS_H
#define ZCSI_TEST_ALL_KINDS_H

/* A call of each kind at the same time, to the service of service.h: a call that the loop
 * answers, one that a worker answers, one with a large answer, and a stream. The stream sends
 * questions to the server's reflection service, each one after the answer to the previous one. */

#include "common/mem.h"
#include "tests/transport/looper.h"
#include "transport/client_stream.h"

struct questions {
	struct rpc_stream *stream; /* used by the client's loop only */
	unsigned answers;
	struct error outcome;
	sem_t closed;
};

/* Begin the stream; looper runs the loop of the client. questions_end() waits for its end, stores
 * the outcome in *err and returns its code. */
void questions_begin(struct questions *questions, struct client *client, struct looper *looper,
		     int64_t deadline);
enum error_code questions_end(struct questions *questions, struct error *err);

#define ALL_KINDS 4

struct all_kinds {
	struct arena arena;
	struct client_call *calls[ALL_KINDS - 1];
	struct questions questions;
};

void all_kinds_begin(struct all_kinds *all, struct client *client, struct looper *looper,
		     int64_t deadline);
/* Wait for all calls and store how each ended. The process aborts if an error has no text, or if a
 * call does not end. */
void all_kinds_end(struct all_kinds *all, enum error_code ret_codes[ALL_KINDS]);

#endif
