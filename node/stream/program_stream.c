/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The life of a stream with a program at its end.
 *
 * Invariant: a call ends with OK only after its program has exited with 0. A program_stream is
 * freed when its stream is closed and no worker has it, and by then no program of it runs.
 */
#include "node/stream/program_stream.h"

#include <stdlib.h>

#include "common/log.h"
#include "node/service.h"
#include "node/stream/copies.h"

static void release(struct program_stream *ps)
{
	if (ps->stream || ps->working)
		return;
	*ps->place = ps->next;
	if (ps->next)
		ps->next->place = ps->place;
	arena_fini(&ps->arena);
	free(ps);
}

/* Run a function on a worker and then another one on the loop. */
static void submit(struct program_stream *ps, void (*run)(struct work *work),
		   void (*done)(struct work *work))
{
	ps->working = true;
	ps->work = (struct work){.lane = LANE_COPY, .run = run, .done = done};
	workers_submit(ps->node->copies->workers, &ps->work);
}

static void run_start(struct work *work)
{
	struct program_stream *ps = container_of(work, struct program_stream, work);
	struct error error;

	if (ps->kind->start(ps, &error) == 0)
		return;
	ps->error = error;
	ps->ended = true;
}

static void run_end(struct work *work)
{
	struct program_stream *ps = container_of(work, struct program_stream, work);
	struct error error;

	/* If the pump failed, the error text of the program explains why. */
	if (ps->kind->end(ps, &error) < 0)
		ps->error = error;
	ps->ended = true;
}

static void on_ended(struct work *work)
{
	struct program_stream *ps = container_of(work, struct program_stream, work);
	bool failed = ps->error.code != ERR_OK;

	ps->working = false;
	if (ps->stream && !failed && ps->kind->answer)
		ps->kind->answer(ps);
	if (ps->stream)
		rpc_stream_finish(ps->stream, failed ? &ps->error : NULL);
	release(ps);
}

void program_stream_pumped(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome)
{
	struct program_stream *ps = stream->arg;

	log_debug("stream is closed", log_str("was", ps->kind->verb),
		  log_int("bytes", (long long)bytes));
	ps->whole = outcome->code == ERR_OK;
	if (!ps->whole)
		ps->error = *outcome;
	submit(ps, run_end, on_ended);
}

static void on_started(struct work *work)
{
	struct program_stream *ps = container_of(work, struct program_stream, work);

	ps->working = false;
	if (ps->ended)
		on_ended(work);
	else if (ps->stream)
		ps->kind->pump(ps);
	else
		submit(ps, run_end, on_ended);
}

void program_stream_begin(struct program_stream *ps)
{
	if (ps->begun)
		return;
	ps->begun = true;
	submit(ps, run_start, on_started);
}

void program_stream_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct program_stream *ps = stream->arg;

	(void)outcome;
	ps->stream = NULL;
	release(ps);
}

static unsigned count(const struct copies *copies, const struct program_stream_kind *kind)
{
	unsigned n = 0;

	for (const struct program_stream *each = copies->streams; each; each = each->next)
		n += each->kind == kind;
	return n;
}

int program_stream_open(struct rpc_stream *stream, const struct program_stream_kind *kind,
			const struct rpc_stream_events *events, struct error *err)
{
	const struct node *node = stream->app;
	struct copies *copies = node->copies;

	if (!node->catalog)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has no pool, and so no snapshots", node->id);
	if (count(copies, kind) == kind->most)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "%u streams are %s already; try again when one has ended", kind->most,
			    kind->verb);
	struct program_stream *ps = mem_alloc(sizeof(*ps));
	*ps = (struct program_stream){.kind = kind,
				      .node = node,
				      .stream = stream,
				      .to = -1,
				      .deadline = stream->deadline,
				      .child = CHILD_NONE,
				      .next = copies->streams,
				      .place = &copies->streams};
	arena_init(&ps->arena, SIZE_MAX);
	if (ps->next)
		ps->next->place = &ps->next;
	copies->streams = ps;
	stream->events = events;
	stream->arg = ps;
	return 0;
}

void program_stream_stop_all(struct copies *copies)
{
	struct error error;

	fail(&error, ERR_UNAVAILABLE, "zcsi-node is stopping; try again");
	for (struct program_stream *each = copies->streams; each; each = each->next)
		if (each->stream)
			rpc_stream_finish(each->stream, &error);
}
