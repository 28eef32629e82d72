/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Copy.Send: the output of a `zfs send` becomes the messages of a stream.
 *
 * The loop passes the bytes on (transport/pump.h). Workers do what may block: they find the
 * snapshot and start the program, and wait for its end.
 *
 * Invariant: a call ends with OK only after its zfs has exited with 0. A call that ends before
 * kills its zfs, which changes nothing. A struct sending is freed when its stream is closed and no
 * worker has it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/child.h"
#include "common/log.h"
#include "node/copy/copy.h"
#include "node/host/node.h"
#include "node/service.h"
#include "node/zfs/argv.h"
#include "node/zfs/hung.h"
#include "node/zfs/key.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"
#include "transport/pump.h"

#define SAID_MAX 1024 /* bytes of stderr that are read */

struct sending {
	struct sending *next, **place; /* in copies->sending */
	struct copies *copies;
	struct catalog *catalog;
	struct rpc_stream *stream; /* NULL once it is closed */
	struct work work;
	bool working; /* the work is queued or runs */
	bool ended;   /* no program runs, and none will be started */
	bool whole;   /* the program's output was passed on to its end */
	int64_t deadline;
	struct arena arena;
	const char *snapshot_id, *from_id;
	struct child child;
	struct error error; /* of the work; code ERR_OK: none */
};

static void release(struct sending *sending)
{
	if (sending->stream || sending->working)
		return;
	*sending->place = sending->next;
	if (sending->next)
		sending->next->place = sending->place;
	sending->copies->n_sending--;
	arena_fini(&sending->arena);
	free(sending);
}

/* Run a function on a worker and then another one on the loop. */
static void submit(struct sending *sending, void (*run)(struct work *work),
		   void (*done)(struct work *work))
{
	sending->working = true;
	sending->work = (struct work){.lane = LANE_COPY, .run = run, .done = done};
	workers_submit(sending->copies->workers, &sending->work);
}

/* On a worker: the command line */

static int find(struct sending *sending, const char *id, struct snapshot **ret)
{
	return catalog_snapshot(sending->catalog, sending->deadline, &sending->arena, id, ret,
				&sending->error);
}

/* Check that an incremental stream can be made: both are snapshots of one volume. */
static int check_from(const struct snapshot *from, const struct snapshot *snapshot,
		      struct error *err)
{
	size_t dataset = strcspn(snapshot->zfs_name, "@") + 1;

	if (strncmp(from->zfs_name, snapshot->zfs_name, dataset) == 0 &&
	    strcmp(from->zfs_name, snapshot->zfs_name) != 0 && from->creation <= snapshot->creation)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "snapshot '%s' is not an earlier snapshot of the volume of '%s'", from->id,
		    snapshot->id);
}

/*
 * *ret_flags are the options of zfs send, in one word. Blocks are sent compressed as they are on
 * disk, and those of an encrypted volume as they are: raw. zfs-fuse has none of these options.
 */
static int choose_flags(const struct snapshot *snapshot, const char **ret_flags, struct error *err)
{
	char dataset[DATASET_NAME_MAX + 1];
	struct key key;

	*ret_flags = NULL;
	if (!zfs_is_the_kernels())
		return 0;
	snprintf(dataset, sizeof(dataset), "%.*s", (int)strcspn(snapshot->zfs_name, "@"),
		 snapshot->zfs_name);
	if (key_read(dataset, &key, err) < 0)
		return -1;
	*ret_flags = strcmp(key.root, "-") ? "-w" : "-Lc";
	return 0;
}

static int start(struct sending *sending, struct error *err)
{
	const char *argv[8] = {"zfs", "send"}, *flags;
	struct snapshot *snapshot, *from = NULL;
	auto_free char *hung = hung_text();
	auto_close int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t n = 2;

	if (ssh_server())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "zcsi-node does not send volumes of the server '%s'; run 'zfs send' "
			    "there",
			    ssh_server());
	if (hung)
		return fail(err, ERR_UNAVAILABLE, "%s", hung);
	if (find(sending, sending->snapshot_id, &snapshot) < 0 ||
	    (*sending->from_id &&
	     (find(sending, sending->from_id, &from) < 0 || check_from(from, snapshot, err) < 0)) ||
	    choose_flags(snapshot, &flags, err) < 0)
		return -1;
	if (flags)
		argv[n++] = flags;
	if (from) {
		argv[n++] = "-i";
		argv[n++] = from->zfs_name;
	}
	argv[n] = snapshot->zfs_name;
	return child_start(&sending->child, argv_complete(&sending->arena, argv), in, 0, err);
}

static void run_start(struct work *work)
{
	struct sending *sending = container_of(work, struct sending, work);

	if (start(sending, &sending->error) < 0)
		sending->ended = true;
}

/* On a worker: the end */

/* Returns what zfs wrote to stderr. It has ended, so all of it is in the pipe. */
static void read_said(int fd, char ret_said[SAID_MAX])
{
	int n = 0;

	ret_said[0] = '\0';
	if (ioctl(fd, FIONREAD, &n) < 0 || n <= 0)
		return;
	ssize_t got = read(fd, ret_said, n < SAID_MAX ? (size_t)n : SAID_MAX - 1);
	ret_said[got > 0 ? got : 0] = '\0';
}

static int end(struct sending *sending, struct error *err)
{
	char said[SAID_MAX];
	int status = sending->whole ? child_reap(&sending->child) : child_kill(&sending->child);

	read_said(sending->child.error, said);
	child_fini(&sending->child);
	if (!sending->whole || status == 0)
		return 0;
	if (status < 0 || child_signal(status))
		return fail(err, ERR_UNAVAILABLE, "'zfs send' was killed by signal %d; try again",
			    child_signal(status));
	return zfs_fail(*said ? said : "nothing, and failed", err);
}

static void run_end(struct work *work)
{
	struct sending *sending = container_of(work, struct sending, work);

	end(sending, &sending->error);
	sending->ended = true;
}

/* On the loop */

static void on_ended(struct work *work)
{
	struct sending *sending = container_of(work, struct sending, work);

	sending->working = false;
	if (sending->stream)
		rpc_stream_finish(sending->stream,
				  sending->error.code == ERR_OK ? NULL : &sending->error);
	release(sending);
}

static void on_pumped(struct rpc_stream *stream, uint64_t bytes, const struct error *outcome)
{
	struct sending *sending = stream->arg;

	log_debug("stream was sent", log_str("snapshot", sending->snapshot_id),
		  log_int("bytes", (long long)bytes));
	sending->whole = outcome->code == ERR_OK;
	if (!sending->whole)
		sending->error = *outcome;
	submit(sending, run_end, on_ended);
}

static void on_started(struct work *work)
{
	struct sending *sending = container_of(work, struct sending, work);

	sending->working = false;
	if (sending->ended)
		on_ended(work);
	else if (sending->stream)
		pump_out(sending->stream, steal_fd(&sending->child.out), on_pumped);
	else
		submit(sending, run_end, on_ended);
}

static void on_request(struct rpc_stream *stream, const void *message)
{
	struct sending *sending = stream->arg;
	const SendRequest *request = message;

	sending->snapshot_id = arena_strdup(&sending->arena, request->snapshot_id);
	sending->from_id = arena_strdup(&sending->arena, request->from_snapshot_id);
	submit(sending, run_start, on_started);
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct sending *sending = stream->arg;

	(void)outcome;
	sending->stream = NULL;
	release(sending);
}

int copy_send(struct rpc_stream *stream, struct error *err)
{
	static const struct rpc_stream_events events = {
		.single = true, .message = on_request, .closed = on_closed};
	const struct node *node = stream->app;
	struct copies *copies = node->copies;

	if (!node->catalog)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has no pool, and so no snapshots", node->id);
	if (copies->n_sending == COPY_STREAMS_MAX)
		return fail(err, ERR_RESOURCE_EXHAUSTED,
			    "%d streams are sent already; try again when one has ended",
			    COPY_STREAMS_MAX);
	struct sending *sending = mem_alloc(sizeof(*sending));
	*sending = (struct sending){.copies = copies,
				    .catalog = node->catalog,
				    .stream = stream,
				    .deadline = stream->deadline,
				    .child = CHILD_NONE};
	arena_init(&sending->arena, SIZE_MAX);
	sending->next = copies->sending;
	sending->place = &copies->sending;
	if (sending->next)
		sending->next->place = &sending->next;
	copies->sending = sending;
	copies->n_sending++;
	stream->events = &events;
	stream->arg = sending;
	return 0;
}

void copy_stop(struct copies *copies)
{
	struct error error;

	fail(&error, ERR_UNAVAILABLE, "zcsi-node is stopping; try again");
	for (struct sending *each = copies->sending; each; each = each->next)
		if (each->stream)
			rpc_stream_finish(each->stream, &error);
}
