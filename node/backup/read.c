/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Backup.ReadBackup, which sends the output of a `zfs send` to the node with the backup.
 *
 * Invariant: if a call ends before its program, the program is killed. A `zfs send` changes nothing
 * in the pool.
 */

#include "node/backup/source.h"
#include "node/host/owner.h"
#include "node/service.h"
#include "node/stream/program.h"
#include "node/stream/program_stream_ends.h"
#include "node/zfs/send_flags.h"

#define WORDS_MAX 6 /* words of a `zfs send` */

struct reading {
	const char *id, *token;
	uint64_t guid, from;
};

static int fail_gone(const struct reading *reading, struct error *err)
{
	return fail(err, ERR_ABORTED, "a snapshot of volume '%s' is gone: try again", reading->id);
}

/*
 * Fill in the arguments to continue an interrupted stream. A token can name any snapshot of the
 * pool, so check that the snapshot of this token is one of the volume.
 */
static int command_rest(const struct reading *reading, const struct history *history,
			const char **argv, struct error *err)
{
	int64_t ignored;

	argv[2] = "-t";
	argv[3] = reading->token;
	if (!history_snapshot(history, reading->guid) ||
	    send_of_token(reading->token, &ignored) != reading->guid)
		return fail_gone(reading, err);
	return 0;
}

static int command(const struct reading *reading, const struct history *history,
		   const char *dataset, const char **argv, struct error *err)
{
	const struct point *to = history_snapshot(history, reading->guid);
	const struct point *from = reading->from ? history_find(history, reading->from) : NULL;
	size_t n = 3;

	if (!to || (reading->from && !from))
		return fail_gone(reading, err);
	if (send_flags(dataset, &argv[2], err) < 0)
		return -1;
	if (from) {
		argv[n++] = "-i";
		argv[n++] = from->name;
	}
	argv[n] = to->name;
	return 0;
}

/* Write the `zfs send` that makes the stream to argv, which has room. */
static int find(struct program_stream *ps, const char **argv, struct error *err)
{
	const struct reading *reading = ps->arg;
	const struct node *node = ps->node;
	struct history history;
	struct dataset *volume;

	if (catalog_get(node->catalog, ps->deadline, &ps->arena, reading->id, &volume, err) < 0 ||
	    owner_check(node, volume, err) < 0 ||
	    history_read(&ps->arena, volume->name, &history, err) < 0)
		return -1;
	argv[0] = "zfs";
	argv[1] = "send";
	return *reading->token ? command_rest(reading, &history, argv, err)
			       : command(reading, &history, volume->name, argv, err);
}

static int start(struct program_stream *ps, struct error *err)
{
	const char *argv[WORDS_MAX + 1] = {NULL};

	if (program_check(err) < 0 || source_check_zfs(ps->node, err) < 0 ||
	    find(ps, argv, err) < 0)
		return -1;
	return program_stream_start_sender(ps, argv, err);
}

static void on_request(struct rpc_stream *stream, const void *message)
{
	struct program_stream *ps = stream->arg;
	const ReadBackupRequest *request = message;
	struct reading *reading = arena_alloc(&ps->arena, sizeof(*reading));
	struct error error;

	*reading = (struct reading){.id = arena_strdup(&ps->arena, request->id),
				    .token = arena_strdup(&ps->arena, request->token),
				    .guid = request->guid,
				    .from = request->from_guid};
	ps->arg = reading;
	if (source_check_caller(stream->caller, request->node_id, &error) < 0)
		rpc_stream_finish(stream, &error);
	else
		program_stream_begin(ps);
}

int read_backup(struct rpc_stream *stream, struct error *err)
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
