/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_ALL_KINDS_H
#define ZCSI_TEST_ALL_KINDS_H

/*
 * A call of each kind at the same time, for tests of what happens to them: one that is answered on
 * the loop, one by a worker, one whose answer is large, all of service.h, and a stream: questions
 * to the server's reflection, one after the other is answered.
 */

#include "common/mem.h"
#include "tests/transport/looper.h"
#include "transport/client_stream.h"

struct questions {
	struct rpc_stream *stream; /* the loop's */
	unsigned answers;
	struct error outcome;
	sem_t closed;
};

/* looper: the client's. */
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
/*
 * Wait for them; how each ended. One that failed must have said why: else, and when one does not
 * end, the process aborts.
 */
void all_kinds_end(struct all_kinds *all, enum error_code ret_codes[ALL_KINDS]);

#endif
