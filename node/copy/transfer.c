/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A stream to another zcsi-node.
 *
 * Invariant: transfer_run returns only after the stream is closed, so the loop does not use its
 * variables later.
 */
#include "node/copy/transfer.h"

#include <errno.h>
#include <semaphore.h>
#include <unistd.h>

#include "common/clock.h"
#include "node/copy/copy_metrics.h"
#include "transport/client_stream.h"
#include "transport/message.h"
#include "transport/pump.h"

struct transfer_run {
	struct loop_task task;
	struct transfer *transfer;
	struct arena *arena;
	int fd;
	struct rpc_stream *stream;
	CopyState *copy;      /* the answer of the other node; NULL before it */
	struct error outcome; /* the stream's, once it is closed */
	sem_t closed;
};

static void on_pumped(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome)
{
	((struct transfer_run *)stream->arg)->transfer->sent += bytes;
	copy_metrics_sent(bytes);
	rpc_stream_finish(stream, outcome->code == ERR_OK ? NULL : outcome);
}

/* Decode the answer into the arena of the run, because the bytes live only during this call. */
static void on_message(struct rpc_stream *stream, const uint8_t *bytes, size_t n)
{
	struct transfer_run *run = stream->arg;
	ProtobufCMessage *message;
	struct error error;

	if (message_decode(run->arena, &zcsi__v1__receive_response__descriptor, bytes, n, &message,
			   &error) < 0)
		rpc_stream_finish(stream, &error);
	else
		run->copy = ((ReceiveResponse *)message)->copy;
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct transfer_run *run = stream->arg;

	run->outcome = *outcome;
	run->transfer->run = NULL;
	sem_post(&run->closed);
}

static void give_up(struct transfer_run *run, const struct error *err)
{
	close(run->fd);
	run->outcome = *err;
	sem_post(&run->closed);
}

static void begin(struct loop_task *task)
{
	static const struct rpc_stream_events events = {.bytes = on_message, .closed = on_closed};
	struct transfer_run *run = container_of(task, struct transfer_run, task);
	struct transfer *transfer = run->transfer;
	ReceiveRequest first = ZCSI__V1__RECEIVE_REQUEST__INIT;

	if (transfer->cancelled.code != ERR_OK) {
		give_up(run, &transfer->cancelled);
		return;
	}
	transfer->run = run;
	run->stream = client_stream_begin(transfer->client, &zcsi__v1__replica__descriptor,
					  "Receive", NO_DEADLINE, &events, run);
	first.header = (ReceiveHeader *)transfer->header;
	rpc_stream_send(run->stream, &first.base);
	pump_out(run->stream, run->fd, on_pumped);
	pump_count(run->stream, &transfer->progress->sent);
	pump_limit(run->stream, transfer->rate);
}

int transfer_run(struct transfer *transfer, struct arena *arena, int fd, CopyState **ret,
		 struct error *err)
{
	struct transfer_run run = {
		.task.fn = begin, .transfer = transfer, .arena = arena, .fd = fd};

	sem_init(&run.closed, 0, 0);
	loop_post(transfer->loop, &run.task);
	while (sem_wait(&run.closed) < 0 && errno == EINTR)
		;
	sem_destroy(&run.closed);
	*ret = run.copy;
	if (run.outcome.code != ERR_OK) {
		*err = run.outcome;
		return -1;
	}
	if (!run.copy)
		return fail(err, ERR_INTERNAL, "the other node did not say what it received");
	return 0;
}

void transfer_cancel(struct transfer *transfer, const struct error *err)
{
	transfer->cancelled = *err;
	if (transfer->run)
		rpc_stream_finish(transfer->run->stream, err);
}
