/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi receive: a stream on stdin becomes a new volume. The agent receives it as a dataset that is
 * no volume yet, and adopt.c makes that a volume.
 *
 * Invariant: the exit status is 0 only if the volume was made, from a stream that zfs receive found
 * complete.
 */
#include "controller/cli/stream/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/volume/format.h"
#include "controller/cli/adopt.h"
#include "controller/cli/dry_run.h"
#include "controller/cli/print/progress.h"
#include "proto/copy.h"
#include "transport/client_stream.h"
#include "transport/message.h"
#include "transport/pump.h"

#define COPY_MAX   ((size_t)1 << 20)

/* Parsing the stream's first record */

#define MAGIC      0x2f5bacbacULL
#define KIND(word) ((word)&3) /* 1: a stream of one snapshot; 2: a package of streams */
#define RAW        ((uint64_t)1 << (24 + 2))
#define OST_ZFS    2
#define OST_ZVOL   3

static uint64_t number_at(const uint8_t *bytes, size_t at, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, bytes + at, size);
	return number;
}

/* Refuse a stream whose numbers are not in the byte order of this host. */
int stream_head_parse(const uint8_t bytes[STREAM_HEAD_SIZE], struct stream_head *ret,
		      struct error *err)
{
	uint64_t version = number_at(bytes, 16, 8), type = number_at(bytes, 32, 4);

	if (number_at(bytes, 0, 4) != 0 || number_at(bytes, 8, 8) != MAGIC)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "stdin is not a stream of 'zfs send'; if it is compressed, "
			    "decompress it");
	if (KIND(version) != 1)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the stream is a package, made with -R, -I or -p: send one snapshot "
			    "without these");
	if (number_at(bytes, 48, 8) != 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the stream is an incremental one, made with -i, and only one with all "
			    "data becomes a volume");
	if (type != OST_ZFS && type != OST_ZVOL)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the stream is neither of a filesystem nor of a zvol");
	*ret = (struct stream_head){.zvol = type == OST_ZVOL, .raw = version & RAW};
	return 0;
}

/* Sending the stream, on the loop's thread */

struct transfer {
	struct loop_task task;
	struct arena *arena;
	struct client *client;
	const ReceiveVolumeRequest *request;
	int from;      /* the end of the pipe from which the loop reads */
	uint64_t guid; /* the received dataset's; 0 until the agent has answered */
	sem_t closed;
	struct error outcome; /* how the call ended; set when the stream is closed */
};

static void on_pumped(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome)
{
	(void)bytes;
	rpc_stream_finish(stream, outcome->code == ERR_OK ? NULL : outcome);
}

static void on_message(struct rpc_stream *stream, const uint8_t *bytes, size_t n)
{
	struct transfer *transfer = stream->arg;
	ProtobufCMessage *message;
	struct error error;

	if (message_decode(transfer->arena, &zcsi__v1__receive_volume_response__descriptor, bytes,
			   n, &message, &error) < 0)
		rpc_stream_finish(stream, &error);
	else
		transfer->guid = ((ReceiveVolumeResponse *)message)->guid;
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct transfer *transfer = stream->arg;

	transfer->outcome = *outcome;
	sem_post(&transfer->closed);
}

static void begin(struct loop_task *task)
{
	static const struct rpc_stream_events events = {.bytes = on_message, .closed = on_closed};
	struct transfer *transfer = container_of(task, struct transfer, task);
	struct rpc_stream *stream =
		client_stream_begin(transfer->client, &zcsi__v1__copy__descriptor, "ReceiveVolume",
				    NO_DEADLINE, &events, transfer);

	rpc_stream_send(stream, &transfer->request->base);
	pump_out(stream, transfer->from, on_pumped);
}

/* Copying stdin to the pipe, on the main thread */

/* Returns the number of bytes read, fewer than n only at the end of stdin; or -1 with *err. */
static ssize_t read_stdin(uint8_t *bytes, size_t n, struct error *err)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = read(STDIN_FILENO, bytes + done, n - done);
		if (got < 0 && errno != EINTR)
			return fail_errno(err, "cannot read from stdin");
		if (got == 0)
			break;
		done += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)done;
}

/*
 * Returns false if the pipe was closed at its other end, because the stream to the agent has ended.
 */
static bool write_all(int to, const uint8_t *bytes, size_t n)
{
	while (n > 0) {
		ssize_t written = write(to, bytes, n);
		if (written < 0 && errno != EINTR)
			return false;
		if (written > 0) {
			bytes += written;
			n -= (size_t)written;
		}
	}
	return true;
}

/* Write the first record, which was read from stdin before, and the rest of stdin to the pipe. */
static int feed(struct cli *cli, const uint8_t *head, int to, struct error *err)
{
	auto_free uint8_t *bytes = mem_alloc(COPY_MAX);
	struct progress progress = {.sent = STREAM_HEAD_SIZE};
	struct progress_line line = {0};
	int64_t begun = now_ms();
	ssize_t n = 0;

	bool taken = write_all(to, head, STREAM_HEAD_SIZE);
	while (taken && (n = read(STDIN_FILENO, bytes, COPY_MAX)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(err, "cannot read from stdin");
		taken = write_all(to, bytes, (size_t)n);
		progress.sent += (uint64_t)n;
		progress.ms = now_ms() - begun;
		if (progress_line_due(&line))
			progress_line_draw(&line, progress_text(&cli->arena, &progress));
	}
	progress_line_end(&line, progress_text(&cli->arena, &progress));
	return 0;
}

static int run(struct cli *cli, const uint8_t *head, struct transfer *transfer, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	transfer->from = ends[0];
	transfer->task.fn = begin;
	sem_init(&transfer->closed, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	fleet_post(cli->fleet, &transfer->task);
	int failed = feed(cli, head, ends[1], err);
	close(ends[1]);
	while (sem_wait(&transfer->closed) < 0)
		;
	sem_destroy(&transfer->closed);
	if (failed)
		return -1;
	*err = transfer->outcome;
	if (err->code == ERR_OK && !transfer->guid)
		return fail(err, ERR_INTERNAL, "the agent did not report what it received");
	return err->code == ERR_OK ? 0 : -1;
}

static int transfer(struct making *making, const uint8_t *head, struct error *err)
{
	struct cli *cli = making->cli;
	ReceiveVolumeRequest *request = new_receive_volume_request(&cli->arena);
	struct transfer transfer = {.arena = &cli->arena, .request = request};

	request->id = arena_strdup(&cli->arena, making->id);
	if (fleet_dial(cli->fleet, making->place, &transfer.client, err) < 0 ||
	    run(cli, head, &transfer, err) < 0)
		return -1;
	making->guid = transfer.guid;
	return 0;
}

/* Read the first record, and check that the options fit it. */
static int read_head(struct making *making, uint8_t *bytes, struct stream_head *ret,
		     struct error *err)
{
	ssize_t n = read_stdin(bytes, STREAM_HEAD_SIZE, err);

	if (n < 0)
		return -1;
	if (n < STREAM_HEAD_SIZE)
		return fail(err, ERR_INVALID_ARGUMENT, "stdin ended before a stream began");
	if (stream_head_parse(bytes, ret, err) < 0)
		return -1;
	if (ret->zvol && !format_find(making->format)->zvol)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the stream is of a zvol: say with --format block, ext4 or xfs what it "
			    "has");
	if (!ret->zvol && format_find(making->format)->zvol)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the stream is of a filesystem, and not of a zvol as --format says");
	if (!ret->zvol && !making->size)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "the stream of a filesystem has no size: give one with --size 10G");
	if (ret->zvol && making->size)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "a zvol has the size of its stream: leave out --size");
	return 0;
}

int cli_receive(struct cli *cli, struct error *err)
{
	uint8_t head[STREAM_HEAD_SIZE];
	struct stream_head stream;
	struct making making;

	if (isatty(STDIN_FILENO))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "a stream is not typed: run zcsi receive %s <FILE", cli->args[0]);
	if (making_begin(cli, cli->args[0], &making, err) < 0 ||
	    read_head(&making, head, &stream, err) < 0)
		return -1;
	if (dry_run_says(cli, arena_printf(&cli->arena,
					   "receive the stream on node '%s', and make the volume "
					   "'%s' of it",
					   making.place->node, making.id)))
		return 0;
	if (transfer(&making, head, err) < 0)
		return -1;
	if (making_adopt(&making, err) < 0)
		return fail_context(err,
				    "the stream is received, and is no volume yet; when this is "
				    "mended, run %s with the same options",
				    making_command(&cli->arena, making.place, making.id));
	if (stream.raw)
		fprintf(stderr,
			"zcsi: volume '%s' is encrypted: its user has to give its key as the "
			"secret encryption_key\n",
			making.id);
	return 0;
}
