/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_PUMP_ENDS_H
#define ZCSI_TEST_PUMP_ENDS_H

/* A transfer from a pipe to a pipe by the pumps of both sides of a call. */

#include "tests/transport/stream_ends.h"

#include <pthread.h>

#include "transport/pump.h"

#define MIB       ((uint64_t)1 << 20)
#define PIPE_SIZE MIB

/* An end of a transfer: a thread, a pipe, and a pump between the pipe and the stream. */
struct end {
	int ours, pumped; /* the two ends of the pipe */
	pthread_t thread;
	uint64_t limit;         /* the writer or reader stops at this position */
	_Atomic uint64_t count; /* bytes that the thread has written or read */
	bool wrong;             /* a byte was not the expected one */

	uint64_t pumped_bytes;
	_Atomic uint64_t counted; /* bytes counted by pump_count(), in the writer's end only */
	struct error pumped_outcome;
	sem_t done;
};

extern struct pump_call {
	struct end writer, reader;
	struct rpc_stream *client, *server;
	uint64_t rate; /* limit of the sender's rate; 0: none */
	bool down;     /* true: the server sends to the client */
	pid_t child;   /* a process that writes for the server */
	struct error server_outcome, client_outcome;
	sem_t begun, server_closed, client_closed;
} call;

/* Setup for cmocka; ends_stop is the teardown. */
int pump_setup(void **state);

/* Functions of the threads: write the pattern, or read and compare it, until the end's limit. */
void *write_pattern(void *end);
void *read_pattern(void *end);
void end_init(struct end *end, bool writes, uint64_t limit);
void start(struct end *end, void *(*run)(void *end));
void join(struct end *end);

/* Begin the call, with a pump at the client and one in the handler of the server. */
void begin(void);
void on_client_closed(struct rpc_stream *stream, const struct error *outcome);
/* End the call with ERR_ABORTED. Called on the stream's loop. */
void abort_call(void *stream);
void wait_for_end(enum error_code outcome);
void wait_for_pumps(enum error_code sent, enum error_code received);
/* Transfer so many bytes, and check that all of them arrived. */
void transfer_whole(uint64_t size, bool down);

#endif
