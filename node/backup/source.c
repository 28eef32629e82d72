/* SPDX-License-Identifier: MPL-2.0 */
/*
 * BeginBackup and EndBackup of zcsi.v1.Backup, and ForgetBackup of zcsi.v1.Copy.
 *
 * Invariant: a snapshot that the backup has confirmed stays as a bookmark, so there is a point
 * where the next stream begins. The bookmark moves only to a snapshot that exists. Only snapshots
 * with a leaf of source_leaf are destroyed, by a plain `zfs destroy`. If the volume has copies, the
 * confirmed snapshot itself stays too: the copies get it, and so a later owner has it.
 */
#include "node/backup/source.h"

#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/volume/escape.h"
#include "node/attach/complete.h"
#include "node/copy/header.h"
#include "node/copy/pusher.h"
#include "node/record/members.h"
#include "node/service.h"
#include "node/stream/copies.h"
#include "node/stream/program.h"
#include "node/zfs/send_flags.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_run.h"

#define TIME_LENGTH 27 /* length of 2026-11-27T11:22:03.123456Z */

/* Names of snapshots and bookmarks */

char *source_leaf(struct arena *arena, int64_t time, const char *node)
{
	const time_t seconds = time / 1000000;
	struct tm utc = {0};
	char text[32];

	gmtime_r(&seconds, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	return arena_printf(arena, SNAPSHOT_BACKUP "%s.%06dZ-%s", text, (int)(time % 1000000),
			    escape_text(arena, node));
}

bool source_leaf_is(const char *leaf, const char *node)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const size_t before = strlen(SNAPSHOT_BACKUP) + TIME_LENGTH;

	return !strncmp(leaf, SNAPSHOT_BACKUP, strlen(SNAPSHOT_BACKUP)) && strlen(leaf) > before &&
	       leaf[before] == '-' && !strcmp(leaf + before + 1, escape_text(&arena, node));
}

char *source_bookmark(struct arena *arena, const char *dataset, const char *node)
{
	return arena_printf(arena, "%s#" SNAPSHOT_BACKUP "%s", dataset, escape_text(arena, node));
}

/* Checks of the caller and of this host */

int source_check_caller(const struct tls_names *caller, const char *node, struct error *err)
{
	if (!caller || tls_names_have(caller, node))
		return 0;
	auto_free char *names = tls_names_text(caller);
	return fail(err, ERR_PERMISSION_DENIED,
		    "the certificate of the caller is for %s, and not for node '%s'", names, node);
}

int source_check_zfs(const struct node *node, struct error *err)
{
	if (zfs_is_the_kernels())
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' has zfs-fuse, which can neither keep backups nor be backed up; use "
		    "a host with OpenZFS",
		    node->id);
}

int source_base(const struct history *history, const BeginBackupRequest *req,
		const struct point **ret, struct error *err)
{
	const struct point *older = NULL;

	*ret = req->n_guids ? history_find(history, req->guids[0]) : NULL;
	if (*ret || !req->n_guids)
		return 0;
	for (size_t i = 1; i < req->n_guids && !older; i++)
		older = history_find(history, req->guids[i]);
	if (older)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the backup has data that the volume lost: the volume was rolled back, "
			    "or another node took it over; on node '%s', 'zfs rollback -r' to its "
			    "snapshot '%s' gives that data up, or keep it with 'zfs rename'",
			    req->node_id, older->leaf);
	return fail(err, ERR_FAILED_PRECONDITION,
		    "the backup and the volume have no snapshot in common: the backup is of an "
		    "earlier volume '%s'; keep it on node '%s' with 'zfs rename', or destroy it "
		    "with 'zcsi backup drop %s %s', and run 'zcsi backup add %s %s'",
		    req->id, req->node_id, req->id, req->node_id, req->id, req->node_id);
}

/* Check the caller, and that this host has the volume and a zfs that can send it. */
static int find(struct rpc_call *call, const char *id, const char *node, struct dataset **ret,
		struct error *err)
{
	if (request_text(node, "node_id", err) < 0 || request_text(id, "id", err) < 0 ||
	    source_check_caller(call->caller, node, err) < 0 || program_check(err) < 0 ||
	    source_check_zfs(call->app, err) < 0)
		return -1;
	return node_find(call, id, ret, err);
}

/* BeginBackup */

/*
 * Destroy the snapshots that were taken for this backup, except the one with the guid `except`; 0:
 * all of them.
 */
static int destroy_others(const struct history *history, const char *node, uint64_t except,
			  struct error *err)
{
	int failed = 0;

	for (size_t i = 0; i < history->n; i++) {
		const struct point *at = &history->points[i];
		if (at->bookmark || at->guid == except || !source_leaf_is(at->leaf, node))
			continue;
		if (zfs_destroy(at->name, err) < 0 && err->code != ERR_NOT_FOUND)
			failed = -1;
	}
	return failed;
}

static void try_to_destroy_others(const struct history *history, const char *node, uint64_t except)
{
	struct error err;

	if (destroy_others(history, node, except, &err) < 0)
		log_debug("cannot destroy the snapshot of an earlier backup", log_str("node", node),
			  log_str("error", err.text));
}

/* Take a snapshot for the backup. *ret_history has all snapshots then, and *ret is the new one. */
static int take(struct rpc_call *call, const struct dataset *volume, const char *node,
		struct history *ret_history, const struct point **ret, struct error *err)
{
	struct zfs_properties none = {.n = 0};
	const char *leaf = source_leaf(&call->arena, wall_us(), node);
	const char *name = arena_printf(&call->arena, "%s@%s", volume->name, leaf);

	if (complete_volume(&call->arena, volume, err) < 0 ||
	    zfs_snapshot(&name, 1, &none, err) < 0 ||
	    history_read(&call->arena, volume->name, ret_history, err) < 0)
		return -1;
	*ret = history_named(ret_history, name);
	return *ret ? 0
		    : fail(err, ERR_ABORTED, "snapshot '%s', which was just taken, is gone", name);
}

static void answer(struct rpc_call *call, const struct point *to, BeginBackupResponse *rsp)
{
	header_end(rsp->header, header_record(&call->arena, to->leaf, to->guid, NULL));
}

/* Returns true if the token continues a stream to a snapshot that is still there. */
static bool resume(struct rpc_call *call, const struct history *history, const char *token,
		   BeginBackupResponse *rsp)
{
	uint64_t guid = *token ? send_of_token(token, &rsp->size) : 0;
	const struct point *to = guid ? history_snapshot(history, guid) : NULL;

	rsp->resumes = to != NULL;
	if (to)
		answer(call, to, rsp);
	return to;
}

static int begin(struct rpc_call *call, const BeginBackupRequest *req, const struct dataset *volume,
		 BeginBackupResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	const struct point *base, *to;
	struct history history;
	const char *flags;

	if (header_make(&call->arena, catalog_parent(node->catalog), volume, &rsp->header, &flags,
			err) < 0 ||
	    history_read(&call->arena, volume->name, &history, err) < 0)
		return -1;
	if (resume(call, &history, req->token, rsp))
		return 0;
	if (source_base(&history, req, &base, err) < 0)
		return -1;
	rsp->from_guid = base ? base->guid : 0;
	try_to_destroy_others(&history, req->node_id, rsp->from_guid);
	if (take(call, volume, req->node_id, &history, &to, err) < 0)
		return -1;
	answer(call, to, rsp);
	base = base ? history_find(&history, base->guid) : NULL;
	const char *whole[] = {"zfs", "send", flags, to->name};
	const char *delta[] = {"zfs", "send", flags, "-i", base ? base->name : "", to->name};
	return base ? send_estimate(delta, COUNT(delta), &rsp->size, err)
		    : send_estimate(whole, COUNT(whole), &rsp->size, err);
}

int begin_backup(struct rpc_call *call, const BeginBackupRequest *req, BeginBackupResponse *rsp,
		 struct error *err)
{
	struct dataset *volume;

	if (find(call, req->id, req->node_id, &volume, err) < 0)
		return -1;
	if (begin(call, req, volume, rsp, err) == 0)
		return 0;
	return fail_context(err, "volume '%s' cannot be backed up", req->id);
}

/* EndBackup */

static int bookmark(const char *snapshot, const char *name, struct error *err)
{
	return zfs_run((const char *const[]){"zfs", "bookmark", snapshot, name, NULL}, err);
}

/* While the bookmark is replaced, the snapshot is the point where the next stream begins. */
static int move_bookmark(struct rpc_call *call, const struct dataset *volume,
			 const EndBackupRequest *req, const struct history *history,
			 struct error *err)
{
	const char *name = source_bookmark(&call->arena, volume->name, req->node_id);
	const struct point *now = history_named(history, name);
	const struct point *to = history_snapshot(history, req->guid);

	if (now && now->guid == req->guid)
		return 0;
	if (!to)
		return fail(err, ERR_ABORTED,
			    "volume '%s' has not the snapshot any more that its backup has got",
			    req->id);
	if (now && zfs_destroy(name, err) < 0 && err->code != ERR_NOT_FOUND)
		return -1;
	return bookmark(to->name, name, err);
}

static bool has_copies(struct arena *arena, const struct dataset *volume)
{
	struct members members;

	return members_parse(arena, volume->members, &members) && members.n > 1;
}

int end_backup(struct rpc_call *call, const EndBackupRequest *req, EndBackupResponse *rsp,
	       struct error *err)
{
	const struct node *node = call->app;
	struct dataset *volume;
	struct history history;

	(void)rsp;
	if (find(call, req->id, req->node_id, &volume, err) < 0 ||
	    history_read(&call->arena, volume->name, &history, err) < 0 ||
	    move_bookmark(call, volume, req, &history, err) < 0)
		return -1;
	bool copies = has_copies(&call->arena, volume);
	try_to_destroy_others(&history, req->node_id, copies ? req->guid : 0);
	if (copies && node->copies->pusher)
		pusher_push(node->copies->pusher, req->id);
	return 0;
}

int forget_backup(struct rpc_call *call, const ForgetBackupRequest *req, ForgetBackupResponse *rsp,
		  struct error *err)
{
	struct dataset *volume;
	struct history history;

	(void)rsp;
	if (request_text(req->id, "id", err) < 0 ||
	    request_text(req->node_id, "node_id", err) < 0 ||
	    node_find(call, req->id, &volume, err) < 0 ||
	    history_read(&call->arena, volume->name, &history, err) < 0)
		return -1;
	const char *name = source_bookmark(&call->arena, volume->name, req->node_id);
	if (history_named(&history, name) && zfs_destroy(name, err) < 0 &&
	    err->code != ERR_NOT_FOUND)
		return -1;
	return destroy_others(&history, req->node_id, 0, err);
}
