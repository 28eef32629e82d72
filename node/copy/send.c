/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Copy.Send: the output of a `zfs send` becomes the messages of a stream.
 *
 * Invariant: a call that ends before its program kills the program, which changes nothing.
 */
#include <string.h>
#include <fcntl.h>

#include "node/stream/program_stream.h"
#include "node/zfs/send_flags.h"
#include "node/service.h"
#include "node/zfs/argv.h"
#include "transport/pump.h"

struct wanted {
	const char *snapshot_id, *from_id;
};

static int find(struct program_stream *ps, const char *id, struct snapshot **ret, struct error *err)
{
	return catalog_snapshot(ps->node->catalog, ps->deadline, &ps->arena, id, ret, err);
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

static const char *dataset_of(struct arena *arena, const struct snapshot *snapshot)
{
	return arena_printf(arena, "%.*s", (int)strcspn(snapshot->zfs_name, "@"),
			    snapshot->zfs_name);
}

static int start(struct program_stream *ps, struct error *err)
{
	const char *argv[8] = {"zfs", "send"}, *flags;
	struct snapshot *snapshot, *from = NULL;
	const struct wanted *wanted = ps->arg;
	auto_close int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t n = 2;

	if (program_stream_check(err) < 0 || find(ps, wanted->snapshot_id, &snapshot, err) < 0 ||
	    (*wanted->from_id &&
	     (find(ps, wanted->from_id, &from, err) < 0 || check_from(from, snapshot, err) < 0)) ||
	    send_flags(dataset_of(&ps->arena, snapshot), &flags, err) < 0)
		return -1;
	if (flags)
		argv[n++] = flags;
	if (from) {
		argv[n++] = "-i";
		argv[n++] = from->zfs_name;
	}
	argv[n] = snapshot->zfs_name;
	return child_start(&ps->child, argv_complete(&ps->arena, argv), in, 0, err);
}

static void pump(struct program_stream *ps)
{
	pump_out(ps->stream, steal_fd(&ps->child.out), program_stream_pumped);
}

static int end(struct program_stream *ps, struct error *err)
{
	static const char *const argv[] = {"zfs", "send"};
	int status = ps->whole ? child_reap(&ps->child) : child_kill(&ps->child);
	int failed = ps->whole ? program_stream_judge(&ps->child, argv, status, false, err) : 0;

	child_fini(&ps->child);
	return failed;
}

static void on_request(struct rpc_stream *stream, const void *message)
{
	struct program_stream *ps = stream->arg;
	const SendRequest *request = message;
	struct wanted *wanted = arena_alloc(&ps->arena, sizeof(*wanted));

	wanted->snapshot_id = arena_strdup(&ps->arena, request->snapshot_id);
	wanted->from_id = arena_strdup(&ps->arena, request->from_snapshot_id);
	ps->arg = wanted;
	program_stream_begin(ps);
}

int copy_send(struct rpc_stream *stream, struct error *err)
{
	static const struct program_stream_kind kind = {
		.most = 4, .verb = "sent", .start = start, .pump = pump, .end = end};
	static const struct rpc_stream_events events = {
		.single = true, .message = on_request, .closed = program_stream_closed};
	struct program_stream *ps;

	if (program_stream_new(&ps, stream, &kind, err) < 0)
		return -1;
	stream->events = &events;
	stream->arg = ps;
	return 0;
}
