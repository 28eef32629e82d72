/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_PROGRAM_STREAM_H
#define ZCSI_NODE_STREAM_PROGRAM_STREAM_H

/*
 * A stream of a call with a program at its end: zfs send, whose output becomes the messages,
 * or zfs receive, which reads them. The loop passes the bytes on (transport/pump.h). A worker
 * starts the program, and a worker waits for its end.
 */

#include <stdbool.h>

#include "common/child.h"
#include "node/host/node.h"
#include "transport/stream.h"
#include "transport/workers.h"

struct copies; /* node/stream/copies.h */
struct program_stream;

struct program_stream_kind {
	unsigned most;    /* how many streams of this kind may run at a time */
	const char *verb; /* "sent" or "received", for error texts */
	/* On a worker: start ps->child. Returns 0, or -1 with *err. */
	int (*start)(struct program_stream *ps, struct error *err);
	/* On the loop: connect child and stream by a pump that ends in program_stream_pumped. */
	void (*pump)(struct program_stream *ps);
	/* On a worker, once the pump has ended: wait for the end of the child, and free it. */
	int (*end)(struct program_stream *ps, struct error *err);
	/* On the loop, after a success: send the answer. NULL: there is none. */
	void (*answer)(struct program_stream *ps);
};

struct program_stream {
	const struct program_stream_kind *kind;
	const struct node *node;
	struct rpc_stream *stream; /* for the loop only; NULL once the stream is closed */
	int64_t deadline;          /* the deadline of the call */
	struct arena arena;        /* memory for the functions of kind; freed after all of them */
	void *arg;                 /* data of the functions of kind */
	struct child child;
	int to; /* a reader's stdin (program_stream_start_reader) until the pump has it; or -1 */
	bool whole; /* for kind->end: true if all data was passed on */

	/* Private to program_stream.c from here on. */
	struct program_stream *next, **place;
	struct work work;
	bool begun;         /* program_stream_begin was called */
	bool working;       /* the work is queued or runs */
	bool ended;         /* no program runs, and none will be started */
	struct error error; /* the error of the work; code ERR_OK: none */
};

/*
 * Make a program stream of a call of this kind that has just begun; stream->arg points to the
 * program stream from then on. events->closed is program_stream_closed. Returns 0, or -1 with *err:
 * the node has no pool, or too many streams run. Loop thread only, as the next three functions.
 */
int program_stream_open(struct rpc_stream *stream, const struct program_stream_kind *kind,
			const struct rpc_stream_events *events, struct error *err);
/* Start the program, once the request says which one. A second call does nothing. */
void program_stream_begin(struct program_stream *ps);
void program_stream_pumped(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome);
void program_stream_closed(struct rpc_stream *stream, const struct error *outcome);

/* End all streams with ERR_UNAVAILABLE, because zcsi-node is stopping. Loop thread only. */
void program_stream_stop_all(struct copies *copies);

#endif
