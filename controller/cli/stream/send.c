/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi send: the stream of a snapshot on stdout; and the same for other streams of an agent. The
 * loop writes what it receives to a pipe, and the main thread copies the pipe to stdout, which may
 * be a file.
 *
 * Invariant: the exit status is 0 only if the agent said that the stream is whole and all of it was
 * written. zfs receive refuses a stream that is not whole.
 */
#include "controller/cli/stream/send.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "controller/cli/print/progress.h"
#include "proto/copy.h"
#include "transport/client_stream.h"
#include "transport/pump.h"

#define COPY_MAX ((size_t)1 << 20)

struct transfer {
	struct loop_task task;
	struct client *client;
	const struct download *download;
	int from, to; /* the ends of the pipe */
	sem_t closed;
	struct error outcome; /* how the call ended; set when the stream is closed */
};

/* Receiving the stream, on the loop */

/* If stdout failed, the pipe is closed: end the stream, which would be received for nothing. */
static void on_pumped(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome)
{
	(void)bytes;
	if (outcome->code != ERR_OK)
		rpc_stream_finish(stream, outcome);
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct transfer *transfer = stream->arg;

	transfer->outcome = *outcome;
	sem_post(&transfer->closed);
}

static void begin(struct loop_task *task)
{
	static const struct rpc_stream_events events = {.closed = on_closed};
	struct transfer *transfer = container_of(task, struct transfer, task);
	struct rpc_stream *stream =
		client_stream_begin(transfer->client, &zcsi__v1__copy__descriptor,
				    transfer->download->method, NO_DEADLINE, &events, transfer);

	pump_in(stream, transfer->to, on_pumped);
	rpc_stream_send(stream, transfer->download->request);
	rpc_stream_finish(stream, NULL);
}

/* Copying the pipe to stdout, on the main thread */

static int write_all(const char *bytes, size_t n, struct error *err)
{
	while (n > 0) {
		ssize_t written = write(STDOUT_FILENO, bytes, n);
		if (written < 0 && errno != EINTR)
			return fail_errno(err, "cannot write to stdout");
		if (written > 0) {
			bytes += written;
			n -= (size_t)written;
		}
	}
	return 0;
}

/* Replace all characters that could control a terminal, and those that are not ASCII, by "?". */
static void make_plain(char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != '\n' && bytes[i] != '\t' && (bytes[i] < ' ' || bytes[i] > '~'))
			bytes[i] = '?';
}

/* Copy the pipe to stdout until its end. */
static int drain(struct cli *cli, int from, const struct download *download, struct error *err)
{
	auto_free char *bytes = mem_alloc(COPY_MAX);
	struct progress progress = {.total = download->total};
	struct progress_line line = {0};
	int64_t begun = now_ms();
	ssize_t n;

	while ((n = read(from, bytes, COPY_MAX)) != 0) {
		if (n < 0 && errno != EINTR)
			return fail_errno(err, "cannot read from a pipe");
		if (n > 0 && download->text)
			make_plain(bytes, (size_t)n);
		if (n > 0 && write_all(bytes, (size_t)n, err) < 0)
			return -1;
		progress.sent += n > 0 ? (uint64_t)n : 0;
		progress.ms = now_ms() - begun;
		if (!download->text && progress_line_due(&line))
			progress_line_draw(&line, progress_text(&cli->arena, &progress));
	}
	if (!download->text)
		progress_line_end(&line, progress_text(&cli->arena, &progress));
	return 0;
}

static int receive(struct cli *cli, struct transfer *transfer, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	transfer->from = ends[0];
	transfer->to = ends[1];
	transfer->task.fn = begin;
	sem_init(&transfer->closed, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	fleet_post(cli->fleet, &transfer->task);
	int result = drain(cli, transfer->from, transfer->download, err);
	close(transfer->from);
	while (sem_wait(&transfer->closed) < 0)
		;
	sem_destroy(&transfer->closed);
	if (result < 0)
		return -1;
	*err = transfer->outcome;
	return err->code == ERR_OK ? 0 : -1;
}

int send_to_stdout(struct cli *cli, const struct member *from, const struct download *download,
		   struct error *err)
{
	struct transfer transfer = {.download = download};

	if (fleet_dial(cli->fleet, from, &transfer.client, err) < 0)
		return -1;
	return receive(cli, &transfer, err);
}

/* Returns the estimated bytes of the stream; 0 if the agent has none, or no progress is drawn. */
static uint64_t estimate(struct cli *cli, const struct member *owner, const SendRequest *request)
{
	EstimateSendRequest *same = new_estimate_send_request(&cli->arena);
	EstimateSendResponse *response = NULL;
	struct error ignored;

	if (!isatty(STDERR_FILENO))
		return 0;
	same->snapshot_id = request->snapshot_id;
	same->from_snapshot_id = request->from_snapshot_id;
	struct client_call *call =
		fleet_begin(cli->fleet, &cli->arena, owner->at, "EstimateSend", &same->base);
	int failed = client_finish(call, &response, &ignored);
	return failed || response->size < 0 ? 0 : (uint64_t)response->size;
}

/* *ret is the agent that has the snapshot. */
static int find_owner(struct cli *cli, const char *id, const struct member **ret, struct error *err)
{
	GetDatasetSnapshotRequest *request = new_get_dataset_snapshot_request(&cli->arena);
	const struct member *silent = NULL;

	request->id = arena_strdup(&cli->arena, id);
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "GetDatasetSnapshot", &request->base);
	for (size_t i = 0; i < cli->n_members; i++) {
		if (replies[i].response) {
			*ret = &cli->members[i];
			return 0;
		}
		if (replies[i].error.code != ERR_NOT_FOUND &&
		    replies[i].error.code != ERR_FAILED_PRECONDITION)
			silent = &cli->members[i], *err = replies[i].error;
	}
	if (silent)
		return fail_context(err, "snapshot '%s' is on no agent that answers; '%s'", id,
				    silent->node);
	return fail(err, ERR_NOT_FOUND,
		    "snapshot '%s' does not exist; 'zcsi snapshots' prints those that do", id);
}

int cli_send(struct cli *cli, struct error *err)
{
	SendRequest *request = new_send_request(&cli->arena);
	const struct member *owner;

	if (isatty(STDOUT_FILENO))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "a stream is not for a terminal: run zcsi send %s >FILE", cli->args[0]);
	request->snapshot_id = arena_strdup(&cli->arena, cli->args[0]);
	request->from_snapshot_id = arena_strdup(&cli->arena, cli->from ? cli->from : "");
	if (find_owner(cli, request->snapshot_id, &owner, err) < 0)
		return -1;
	const struct download download = {.method = "Send",
					  .request = &request->base,
					  .total = estimate(cli, owner, request)};
	return send_to_stdout(cli, owner, &download, err);
}
