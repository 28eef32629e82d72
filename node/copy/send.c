/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Copy.Send, which sends the output of a `zfs send` as the messages of a stream, and EstimateSend,
 * which asks zfs for the length of that output.
 *
 * Invariant: a call that ends before its program kills the program, which changes nothing.
 */
#include <string.h>

#include "node/stream/program.h"
#include "node/stream/program_stream_ends.h"
#include "node/zfs/send_flags.h"
#include "node/service.h"
#include "node/zfs/zfs_run.h"

struct wanted {
	const char *snapshot_id, *from_id;
};

/* The node, deadline and arena of a call of Send or EstimateSend. */
struct asking {
	const struct node *node;
	int64_t deadline;
	struct arena *arena;
};

static int find(const struct asking *asking, const char *id, struct snapshot **ret,
		struct error *err)
{
	return catalog_snapshot(asking->node->catalog, asking->deadline, asking->arena, id, ret,
				err);
}

/* Check that an incremental stream can be made: `from` is an earlier snapshot of the volume. */
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

/* ret_argv is the `zfs send` that makes the stream, in the arena. */
static int command(const struct asking *asking, const struct wanted *wanted,
		   const char *ret_argv[SEND_WORDS_MAX + 1], size_t *ret_n, struct error *err)
{
	struct snapshot *snapshot, *from = NULL;
	const char *flags;
	size_t n = 0;

	if (find(asking, wanted->snapshot_id, &snapshot, err) < 0 ||
	    (*wanted->from_id && (find(asking, wanted->from_id, &from, err) < 0 ||
				  check_from(from, snapshot, err) < 0)) ||
	    send_flags(dataset_of(asking->arena, snapshot), &flags, err) < 0)
		return -1;
	ret_argv[n++] = "zfs";
	ret_argv[n++] = "send";
	if (flags)
		ret_argv[n++] = flags;
	if (from) {
		ret_argv[n++] = "-i";
		ret_argv[n++] = from->zfs_name;
	}
	ret_argv[n++] = snapshot->zfs_name;
	ret_argv[n] = NULL;
	*ret_n = n;
	return 0;
}

static int start(struct program_stream *ps, struct error *err)
{
	const struct asking asking = {ps->node, ps->deadline, &ps->arena};
	const char *argv[SEND_WORDS_MAX + 1];
	size_t n;

	if (program_check(err) < 0 || command(&asking, ps->arg, argv, &n, err) < 0)
		return -1;
	return program_stream_start_sender(ps, argv, err);
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
	static const struct program_stream_kind kind = {.most = 4,
							.verb = "sent",
							.start = start,
							.pump = program_stream_drain,
							.end = program_stream_end_sender};
	static const struct rpc_stream_events events = {
		.single = true, .message = on_request, .closed = program_stream_closed};

	return program_stream_open(stream, &kind, &events, err);
}

int estimate_send(struct rpc_call *call, const EstimateSendRequest *req, EstimateSendResponse *rsp,
		  struct error *err)
{
	const struct asking asking = {call->app, call->deadline, &call->arena};
	const struct wanted wanted = {req->snapshot_id, req->from_snapshot_id};
	const char *argv[SEND_WORDS_MAX + 1];
	size_t n;

	if (node_need_pool(call, "snapshot", req->snapshot_id, err) < 0 ||
	    command(&asking, &wanted, argv, &n, err) < 0)
		return -1;
	return zfs_is_the_kernels() ? send_estimate(argv, n, &rsp->size, err) : 0;
}
