/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ListReceived and ReceiveVolume of zcsi.v1.Copy: the messages of a stream become the input of a
 * `zfs receive` into a dataset that is no volume yet. AdoptDataset (node/create/adopt.c) makes it
 * one.
 *
 * Invariant: zfs receives only into a new name below DATASET_RECEIVED, where no dataset is a
 * volume, with -u, so that nothing is mounted, and never with -F. Because it runs without -s, it
 * destroys the dataset of an incomplete stream.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/volume/escape.h"
#include "node/catalog/change.h"
#include "node/service.h"
#include "node/stream/program.h"
#include "node/stream/program_stream_ends.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define LOCK_MS 1000 /* to find that another call receives the same volume */

struct receiving {
	const char *id, *name;
	const char *key; /* a key of the catalog, locked from the start to the end */
	uint64_t guid;
};

static int make_folder(struct program_stream *ps, struct error *err)
{
	const char *parent = catalog_parent(ps->node->catalog);
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, "canmount", "off");
	zfs_property(&properties, "mountpoint", "none");
	if (zfs_create(arena_printf(&ps->arena, "%s/" DATASET_RECEIVED, parent), &properties,
		       err) == 0)
		return 0;
	return err->code == ERR_ALREADY_EXISTS ? 0 : -1;
}

static int check_no_volume(struct program_stream *ps, const char *id, struct error *err)
{
	struct dataset *volume;

	if (catalog_get(ps->node->catalog, ps->deadline, &ps->arena, id, &volume, err) == 0)
		return fail(err, ERR_ALREADY_EXISTS,
			    "volume '%s' exists; a stream is received into a new one only", id);
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

/* A dataset of an earlier call may be all that is left of a volume, so it is never replaced. */
static int check_new(const struct receiving *receiving, struct error *err)
{
	uint64_t guid;

	if (zfs_guid(receiving->name, &guid, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	return fail(err, ERR_ALREADY_EXISTS,
		    "'%s' was received before: make it the volume with 'zcsi adopt %s', or destroy "
		    "it with 'zfs destroy -r %s'",
		    receiving->name, receiving->id, receiving->name);
}

static int start_locked(struct program_stream *ps, struct error *err)
{
	const struct receiving *receiving = ps->arg;
	const char *argv[] = {"zfs", "receive", "-u", receiving->name, NULL};

	if (program_check(err) < 0 || check_no_volume(ps, receiving->id, err) < 0 ||
	    make_folder(ps, err) < 0 || check_new(receiving, err) < 0)
		return -1;
	return program_stream_start_reader(ps, argv, err);
}

static int start(struct program_stream *ps, struct error *err)
{
	struct receiving *receiving = ps->arg;
	struct catalog *catalog = ps->node->catalog;

	receiving->name = dataset_received_name(&ps->arena, catalog_parent(catalog), receiving->id);
	receiving->key = arena_printf(&ps->arena, "received %s", receiving->name);
	if (catalog_lock_key(catalog, now_ms() + LOCK_MS, receiving->key, err) < 0)
		return fail_context(err, "volume '%s' is being received already", receiving->id);
	int failed = start_locked(ps, err);
	if (failed)
		catalog_unlock_key(catalog, receiving->key);
	return failed;
}

/*
 * Destroy the dataset of an incomplete stream, which zfs-fuse itself cannot do while another
 * program lists it. ZFS refuses if the dataset has a snapshot.
 */
static void remove_incomplete(const struct receiving *receiving, const struct error *why)
{
	struct error err;

	if (zfs_is_the_kernels() || why->code == ERR_ALREADY_EXISTS)
		return;
	if (zfs_destroy(receiving->name, &err) < 0 && err.code != ERR_NOT_FOUND)
		log_warn("cannot destroy the result of an incomplete stream",
			 log_str("dataset", receiving->name), log_str("error", err.text));
}

static int end(struct program_stream *ps, struct error *err)
{
	static const char *const argv[] = {"zfs", "receive"};
	struct receiving *receiving = ps->arg;
	int status = program_stream_reap_reader(ps);
	int failed = program_judge(&ps->child, argv, status, false, err);

	child_fini(&ps->child);
	if (failed)
		remove_incomplete(receiving, err);
	catalog_unlock_key(ps->node->catalog, receiving->key);
	if (failed)
		return fail_context(err, "volume '%s' is not received", receiving->id);
	return ps->whole ? zfs_guid(receiving->name, &receiving->guid, err) : 0;
}

static void answer(struct program_stream *ps)
{
	const struct receiving *receiving = ps->arg;
	ReceiveVolumeResponse *response = new_receive_volume_response(&ps->arena);

	response->guid = receiving->guid;
	rpc_stream_send(ps->stream, &response->base);
}

static void on_message(struct rpc_stream *stream, const void *message)
{
	struct program_stream *ps = stream->arg;
	const ReceiveVolumeRequest *request = message;
	struct receiving *receiving;
	struct error error;

	/* Drop data that comes after zfs has ended early; the call fails soon. */
	if (ps->arg)
		return;
	receiving = ps->arg = arena_alloc(&ps->arena, sizeof(*receiving));
	receiving->id = arena_strdup(&ps->arena, request->id);
	if (request_text(request->id, "id", &error) < 0) {
		rpc_stream_finish(stream, &error);
	} else if (strlen(request->id) > DATASET_ID_MAX) {
		fail(&error, ERR_INVALID_ARGUMENT, "id '%s' is longer than %d bytes", request->id,
		     DATASET_ID_MAX);
		rpc_stream_finish(stream, &error);
	} else {
		rpc_stream_hold(stream);
		program_stream_begin(ps);
	}
}

/* Fail if the client has ended the stream without a message. */
static void on_end(struct rpc_stream *stream)
{
	const struct program_stream *ps = stream->arg;
	struct error error;

	fail(&error, ERR_INVALID_ARGUMENT, "the stream names no volume");
	if (!ps->arg)
		rpc_stream_finish(stream, &error);
}

int copy_receive_volume(struct rpc_stream *stream, struct error *err)
{
	static const struct program_stream_kind kind = {.most = 2,
							.verb = "received",
							.start = start,
							.pump = program_stream_feed,
							.end = end,
							.answer = answer};
	static const struct rpc_stream_events events = {
		.message = on_message, .ended = on_end, .closed = program_stream_closed};

	return program_stream_open(stream, &kind, &events, err);
}

/* Returns the id of "FOLDER/LEAF@SNAPSHOT"; NULL if LEAF is not an escaped id. */
static char *id_of(struct arena *arena, const char *folder, char *line)
{
	size_t length = strlen(folder);

	if (strncmp(line, folder, length) != 0 || line[length] != '/')
		return NULL;
	line += length + 1;
	line[strcspn(line, "@")] = '\0';
	return strchr(line, '/') ? NULL : unescape_text(arena, line);
}

/*
 * List snapshots: a dataset whose stream is still received has none yet. zfs lists the snapshots of
 * one dataset together.
 */
int list_received(struct rpc_call *call, const ListReceivedRequest *req, ListReceivedResponse *rsp,
		  struct error *err)
{
	const struct node *node = call->app;
	auto_free char *out = NULL;
	size_t most = 1;
	char *state;

	(void)req;
	if (!node->catalog)
		return 0;
	const char *parent = catalog_parent(node->catalog);
	const char *folder = arena_printf(&call->arena, "%s/" DATASET_RECEIVED, parent);
	const char *argv[] = {"zfs",      "list", "-H",   "-d",   "2", "-t",
			      "snapshot", "-o",   "name", folder, NULL};
	if (zfs_run_once(&(struct exec){.argv = argv}, &out, err) < 0)
		return zfs_is_missing(parent, err);
	for (const char *at = out; *at; at++)
		most += *at == '\n';
	rsp->ids = arena_alloc(&call->arena, most * sizeof(*rsp->ids));
	for (char *at = strtok_r(out, "\n", &state); at; at = strtok_r(NULL, "\n", &state)) {
		char *id = id_of(&call->arena, folder, at);
		if (id && (!rsp->n_ids || strcmp(rsp->ids[rsp->n_ids - 1], id) != 0))
			rsp->ids[rsp->n_ids++] = id;
	}
	return 0;
}
