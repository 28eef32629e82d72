/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Replica.Receive: the messages of a stream become the input of a `zfs receive`.
 *
 * Invariant: zfs receives only below REPLICA_FOLDER, where no dataset is a volume, with -s, so that
 * what was received of a stream that ended early can be continued, with -u, so that nothing is
 * mounted, and never with -F. OK means that the copy has the snapshot with the guid of the header.
 * A copy takes no stream from an owner of an earlier epoch than its own.
 * Only a node that has the volume's data too, by the names in its certificate, may send to a copy.
 */
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/volume/format.h"
#include "node/catalog/change.h"
#include "node/stream/program.h"
#include "node/stream/program_stream_ends.h"
#include "node/replica/properties.h"
#include "node/replica/replica.h"
#include "node/replica/snapshots.h"
#include "node/record/members.h"
#include "node/record/property.h"
#include "node/service.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_run.h"
#include "transport/message.h"
#include "transport/tls_names.h"

#define LOCK_MS 1000 /* longest wait for the end of another stream to the same copy */

struct receiving {
	const ReceiveHeader *header;
	const struct tls_names *caller; /* the names in its certificate; NULL without TLS */
	struct members members;
	const char *name; /* the copy's */
	const char *key;  /* replica_key, locked from the start to the end */
	CopyState *copy;  /* the state of the copy after the stream, for the answer */
};

static SnapshotRecord record_of(const ReceiveHeader *header)
{
	return (SnapshotRecord){.name = header->snapshot,
				.guid = header->guid,
				.n_properties = header->n_snapshot_properties,
				.properties = header->snapshot_properties};
}

static int check_header(const ReceiveHeader *header, struct error *err)
{
	const Dataset *volume = header->volume;
	const SnapshotRecord record = record_of(header);

	if (!volume || !*volume->id || !*header->snapshot || strpbrk(header->snapshot, "@/"))
		return fail(err, ERR_INVALID_ARGUMENT, "the header names no volume or no snapshot");
	if (!format_find(volume->format))
		return fail(err, ERR_INVALID_ARGUMENT, "format of volume '%s' is '%.64s'",
			    volume->id, volume->format);
	for (size_t i = 0; i < header->n_properties; i++)
		if (property_check(header->properties[i], err) < 0)
			return -1;
	return replica_check_record(&record, err);
}

static int check_membership(struct program_stream *ps, struct receiving *receiving,
			    struct error *err)
{
	const ReceiveHeader *header = receiving->header;

	if (!members_parse(&ps->arena, header->members, &receiving->members))
		return fail(err, ERR_INVALID_ARGUMENT, "members of volume '%s' are '%.128s'",
			    header->volume->id, header->members);
	if (members_have(&receiving->members, ps->node->id))
		return replica_check_caller(receiving->caller, receiving->members.nodes,
					    receiving->members.n, header->volume->id, err);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' has no copy on node '%s'; add it with 'zcsi copy add %s %s'",
		    header->volume->id, ps->node->id, header->volume->id, ps->node->id);
}

/* Check the copy that exists, or make the folder for a new one. */
static int prepare(struct program_stream *ps, const ReceiveHeader *header, struct error *err)
{
	const struct receiving *receiving = ps->arg;
	const char *parent = catalog_parent(ps->node->catalog);
	CopyState *copy;

	if (replica_read(&ps->arena, parent, header->volume->id, &copy, err) < 0)
		return -1;
	if (!copy)
		return replica_make_folder(&ps->arena, parent, REPLICA_FOLDER, err);
	if (strcmp(copy->lineage, receiving->members.lineage) != 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has a copy of another volume with the name '%s'; look at "
			    "it, and destroy it with 'zfs destroy -r %s'",
			    ps->node->id, header->volume->id, copy->name);
	if (replica_check_known_caller(receiving->caller, copy, header->volume->id, err) < 0)
		return -1;
	if (replica_check_epoch(copy, header->epoch, header->volume->id, err) < 0)
		return -1;
	return header->discard ? replica_discard(copy, err) : 0;
}

static const char *const *command_line(struct program_stream *ps,
				       const struct zfs_properties *properties)
{
	const struct receiving *receiving = ps->arg;
	const char **argv = arena_alloc(&ps->arena, (2 * properties->n + 6) * sizeof(*argv));
	size_t n = 0;

	argv[n++] = "zfs";
	argv[n++] = "receive";
	argv[n++] = "-s";
	argv[n++] = "-u";
	n += zfs_property_options(&ps->arena, properties, argv + n);
	argv[n] = receiving->name;
	return argv;
}

static int start_locked(struct program_stream *ps, struct error *err)
{
	const struct receiving *receiving = ps->arg;
	const ReceiveHeader *header = receiving->header;
	struct zfs_properties properties = {.n = 0};

	if (replica_check_no_volume(ps->node, ps->deadline, header->volume->id, err) < 0 ||
	    prepare(ps, header, err) < 0)
		return -1;
	replica_properties(&ps->arena, catalog_parent(ps->node->catalog), header, &properties);
	if (properties.n > ZFS_PROPERTIES_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "volume '%s' has more than %d properties",
			    header->volume->id, ZFS_PROPERTIES_MAX);
	return program_stream_start_reader(ps, command_line(ps, &properties), err);
}

static int start(struct program_stream *ps, struct error *err)
{
	struct receiving *receiving = ps->arg;
	struct catalog *catalog = ps->node->catalog;
	const ReceiveHeader *header = receiving->header;

	if (program_check(err) < 0 || check_header(header, err) < 0 ||
	    check_membership(ps, receiving, err) < 0)
		return -1;
	if (!zfs_is_the_kernels())
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has zfs-fuse, which keeps no copies; use a host with "
			    "OpenZFS",
			    ps->node->id);
	receiving->name = replica_name(&ps->arena, catalog_parent(catalog), header->volume->id);
	receiving->key = replica_key(&ps->arena, receiving->name);
	if (catalog_lock_key(catalog, now_ms() + LOCK_MS, receiving->key, err) < 0)
		return fail(err, ERR_UNAVAILABLE,
			    "another stream to '%s' has not ended yet, or snapshots of it are "
			    "being destroyed; try again",
			    receiving->name);
	int failed = start_locked(ps, err);
	if (failed)
		catalog_unlock_key(catalog, receiving->key);
	return failed;
}

static int confirm(struct program_stream *ps, struct error *err)
{
	struct receiving *receiving = ps->arg;
	const ReceiveHeader *header = receiving->header;
	const SnapshotRecord record = record_of(header);

	if (replica_read(&ps->arena, catalog_parent(ps->node->catalog), header->volume->id,
			 &receiving->copy, err) < 0)
		return -1;
	if (replica_record(&ps->arena, receiving->copy, &record, err) == 0)
		return 0;
	return fail_context(err, "cannot record a received stream");
}

/*
 * Discard the part that was received when the pool became full, so that its space is free for other
 * datasets. Empty the trash first: catalog_make_room does so only while the pool is full.
 */
static void give_back(struct program_stream *ps)
{
	const struct receiving *receiving = ps->arg;
	const char *parent = catalog_parent(ps->node->catalog);
	struct error err;
	CopyState *copy;

	catalog_make_room(ps->node->catalog, NO_DEADLINE);
	if (replica_read(&ps->arena, parent, receiving->header->volume->id, &copy, &err) < 0 ||
	    (copy && replica_discard(copy, &err) < 0))
		log_warn("cannot discard a partly received stream",
			 log_str("copy", receiving->name), log_str("error", err.text));
}

static int end_locked(struct program_stream *ps, struct error *err)
{
	static const char *const argv[] = {"zfs", "receive"};
	const struct receiving *receiving = ps->arg;
	int status = program_stream_reap_reader(ps);
	int failed = program_judge(&ps->child, argv, status, true, err);

	child_fini(&ps->child);
	if (failed && err->code == ERR_RESOURCE_EXHAUSTED)
		give_back(ps);
	if (failed)
		return fail_context(err, "the copy '%s'", receiving->name);
	return ps->whole ? confirm(ps, err) : 0;
}

static int end(struct program_stream *ps, struct error *err)
{
	const struct receiving *receiving = ps->arg;
	int failed = end_locked(ps, err);

	catalog_unlock_key(ps->node->catalog, receiving->key);
	return failed;
}

static void answer(struct program_stream *ps)
{
	const struct receiving *receiving = ps->arg;
	ReceiveResponse *response = new_receive_response(&ps->arena);

	response->copy = receiving->copy;
	rpc_stream_send(ps->stream, &response->base);
}

/*
 * *ret is a copy of the header in the arena, because the message is freed when the next one comes.
 */
static int keep(struct arena *arena, const ReceiveHeader *header, const ReceiveHeader **ret,
		struct error *err)
{
	size_t size = protobuf_c_message_get_packed_size(&header->base);
	uint8_t *bytes = arena_alloc(arena, size + 1);
	ProtobufCMessage *copy;

	protobuf_c_message_pack(&header->base, bytes);
	if (message_decode(arena, header->base.descriptor, bytes, size, &copy, err) < 0)
		return -1;
	*ret = (const ReceiveHeader *)copy;
	return 0;
}

static void on_message(struct rpc_stream *stream, const void *message)
{
	struct program_stream *ps = stream->arg;
	const ReceiveRequest *request = message;
	struct receiving *receiving;
	struct error error;

	/* Ignore data that arrives after zfs has ended early; the call fails soon. */
	if (ps->arg)
		return;
	receiving = ps->arg = arena_alloc(&ps->arena, sizeof(*receiving));
	receiving->caller = tls_names_keep(&ps->arena, stream->caller);
	if (!request->header) {
		fail(&error, ERR_INVALID_ARGUMENT, "the first message of the stream has no header");
		rpc_stream_finish(stream, &error);
	} else if (keep(&ps->arena, request->header, &receiving->header, &error) < 0) {
		rpc_stream_finish(stream, &error);
	} else {
		rpc_stream_hold(stream);
		program_stream_begin(ps);
	}
}

/* Fail a call that had no message. */
static void on_end(struct rpc_stream *stream)
{
	const struct program_stream *ps = stream->arg;
	struct error error;

	fail(&error, ERR_INVALID_ARGUMENT, "the stream has no header");
	if (!ps->arg)
		rpc_stream_finish(stream, &error);
}

int copy_receive(struct rpc_stream *stream, struct error *err)
{
	static const struct program_stream_kind kind = {.most = 8,
							.verb = "received",
							.start = start,
							.pump = program_stream_feed,
							.end = end,
							.answer = answer};
	static const struct rpc_stream_events events = {
		.message = on_message, .ended = on_end, .closed = program_stream_closed};

	return program_stream_open(stream, &kind, &events, err);
}
