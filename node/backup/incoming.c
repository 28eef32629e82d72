/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A stream from another zcsi-node.
 *
 * Invariant: incoming_read returns only after the stream is closed, so the loop does not use its
 * variables later.
 */
#include "node/backup/incoming.h"

#include <errno.h>
#include <semaphore.h>
#include <unistd.h>

#include "common/clock.h"
#include "transport/client_stream.h"
#include "transport/loop.h"
#include "transport/pump.h"

struct incoming_run {
	struct loop_task task;
	struct incoming *incoming;
	struct client *client;
	const ReadBackupRequest *request;
	int fd;
	struct rpc_stream *stream;
	struct error outcome; /* result of the stream, set when it is closed */
	sem_t closed;
};

static void on_pumped(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome)
{
	(void)bytes;
	if (outcome->code != ERR_OK)
		rpc_stream_finish(stream, outcome);
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct incoming_run *run = stream->arg;

	run->outcome = *outcome;
	run->incoming->run = NULL;
	sem_post(&run->closed);
}

static void begin(struct loop_task *task)
{
	static const struct rpc_stream_events events = {.closed = on_closed};
	struct incoming_run *run = container_of(task, struct incoming_run, task);

	if (run->incoming->cancelled.code != ERR_OK) {
		close(run->fd);
		run->outcome = run->incoming->cancelled;
		sem_post(&run->closed);
		return;
	}
	run->incoming->run = run;
	run->stream = client_stream_begin(run->client, &zcsi__v1__backup__descriptor, "ReadBackup",
					  NO_DEADLINE, &events, run);
	pump_in(run->stream, run->fd, on_pumped);
	rpc_stream_send(run->stream, &run->request->base);
	rpc_stream_finish(run->stream, NULL);
}

int incoming_read(struct incoming *incoming, struct client *client,
		  const ReadBackupRequest *request, int fd, struct error *err)
{
	struct incoming_run run = {.task.fn = begin,
				   .incoming = incoming,
				   .client = client,
				   .request = request,
				   .fd = fd};

	sem_init(&run.closed, 0, 0);
	loop_post(incoming->loop, &run.task);
	while (sem_wait(&run.closed) < 0 && errno == EINTR)
		;
	sem_destroy(&run.closed);
	*err = run.outcome;
	return run.outcome.code == ERR_OK ? 0 : -1;
}

void incoming_cancel(struct incoming *incoming, const struct error *err)
{
	incoming->cancelled = *err;
	if (incoming->run)
		rpc_stream_finish(incoming->run->stream, err);
}
