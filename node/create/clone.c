/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Creating volumes from a snapshot, or from a volume by a new snapshot, the origin.
 *
 * Invariant: a call locks the origin key before it clones or destroys the origin, so either the
 * clone exists with all its data, or the call fails with NOT_FOUND. (With zfs-fuse, a clone and the
 * destroy of its snapshot may both succeed, and the clone is lost.) An origin made here is marked
 * for deferred destroy, so it disappears with its last clone. After a crash before that mark, the
 * reaper (node/agent/reaper.c) destroys it.
 */
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/volume/escape.h"
#include "common/log.h"
#include "node/agent/origin.h"
#include "node/attach/complete.h"
#include "node/create/clone.h"
#include "node/create/made.h"

static int check_format(const CreateDatasetRequest *req, const char *what, const char *id,
			const struct format *format, struct error *err)
{
	if (made_format(req->format) == format)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "volume '%s' cannot be %s: %s '%s' is %s; ask for the format of its source",
		    req->id, made_format(req->format)->description, what, id,
		    format ? format->description : "of an unknown format");
}

static int check_size(const CreateDatasetRequest *req, const char *what, const char *id,
		      int64_t size, struct error *err)
{
	if (req->size >= size)
		return 0;
	return fail(err, ERR_OUT_OF_RANGE,
		    "volume '%s' of %" PRId64 " bytes is smaller than %s '%s', which has %" PRId64
		    "; ask for that or more",
		    req->id, req->size, what, id, size);
}

/* Refuse encryption if the source is not encrypted: a clone shares its blocks and its key. */
static int check_encryption(const CreateDatasetRequest *req, const char *what, const char *id,
			    bool encrypted, struct error *err)
{
	for (size_t i = 0; !encrypted && i < req->n_properties; i++)
		if (!strcmp(req->properties[i]->name, "encryption"))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "volume '%s' cannot be encrypted: its source, %s '%s', is not; "
				    "leave out the parameter zfs.encryption",
				    req->id, what, id);
	return 0;
}

/* Read the source again after `zfs clone` or `zfs snapshot` failed; the catalog may be outdated. */
static int fail_source(struct rpc_call *call, const char *zfs_name, struct error *err)
{
	agent_reread_on_error(call, zfs_name, err);
	return -1;
}

static void add_source(struct rpc_call *call, const char *kind, const char *id,
		       struct zfs_properties *properties, char **ret_source)
{
	*ret_source = arena_printf(&call->arena, "%s:%s", kind, id);
	zfs_property(properties, "zcsi:source", escape_text(&call->arena, *ret_source));
}

static int clone_snapshot(struct rpc_call *call, const CreateDatasetRequest *req,
			  const struct snapshot *source, struct zfs_properties *properties,
			  struct dataset *made, struct error *err)
{
	if (check_format(req, "snapshot", source->id, source->format, err) < 0 ||
	    check_size(req, "snapshot", source->id, source->size, err) < 0 ||
	    check_encryption(req, "snapshot", source->id, source->has_key, err) < 0)
		return -1;
	add_source(call, "snapshot", source->id, properties, &made->source);
	made->has_key = source->has_key;
	if (zfs_clone(source->zfs_name, made->name, properties, err) < 0)
		return fail_source(call, source->zfs_name, err);
	return 0;
}

static int from_snapshot(struct rpc_call *call, const CreateDatasetRequest *req,
			 struct zfs_properties *properties, struct dataset *made, struct error *err)
{
	struct node *node = call->app;
	struct snapshot *source;
	char *key;

	if (origin_lock_key(call, req->source_snapshot, &source, &key, err) < 0)
		return -1;
	int failed = clone_snapshot(call, req, source, properties, made, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

/*
 * Take the snapshot of a source volume from which the clone is made; *ret is its ZFS name. A
 * snapshot of that name may exist. If a crash left it, its data are outdated, and it is destroyed
 * here. If it is the origin of an earlier volume of this id that is now in the trash, ZFS defers
 * destroying it, and another name is used.
 */
static int take_origin(struct rpc_call *call, const char *source, const char *id, char **ret,
		       struct error *err)
{
	const struct zfs_properties none = {.n = 0};
	struct error ignored;

	*ret = snapshot_clone_zfs_name(&call->arena, source, id);
	if (zfs_snapshot((const char *const *)ret, 1, &none, err) == 0)
		return 0;
	if (err->code != ERR_ALREADY_EXISTS)
		return -1;
	zfs_destroy_origin(*ret, &ignored);
	if (zfs_snapshot((const char *const *)ret, 1, &none, err) == 0)
		return 0;
	if (err->code != ERR_ALREADY_EXISTS)
		return -1;
	id = arena_printf(&call->arena, "%s.%" PRId64, id, now_ms());
	*ret = snapshot_clone_zfs_name(&call->arena, source, id);
	return zfs_snapshot((const char *const *)ret, 1, &none, err);
}

/*
 * Destroy the origin after the clone was created or failed: at once if no clone uses it, or
 * deferred until its last clone is destroyed.
 */
static void release_origin(struct rpc_call *call, const char *origin)
{
	struct node *node = call->app;
	struct error err;

	if (zfs_destroy_origin(origin, &err) == 0)
		return;
	log_warn("cannot destroy the origin of a clone, retrying after the next scan",
		 log_str("snapshot", origin), log_str("error", err.text));
	catalog_rescan(node->catalog);
}

static int clone_by(struct rpc_call *call, const struct dataset *source, const char *id,
		    const char *name, const struct zfs_properties *properties, struct error *err)
{
	char *origin;

	if (complete_volume(&call->arena, source, err) < 0 ||
	    take_origin(call, source->name, id, &origin, err) < 0)
		return fail_source(call, source->name, err);
	int failed = zfs_clone(origin, name, properties, err);
	release_origin(call, origin);
	return failed;
}

static int from_dataset(struct rpc_call *call, const CreateDatasetRequest *req,
			struct zfs_properties *properties, struct dataset *made, struct error *err)
{
	struct node *node = call->app;
	struct dataset *source;

	if (node_find(call, req->source_dataset, &source, err) < 0 ||
	    check_format(req, "volume", source->id, source->format, err) < 0 ||
	    check_size(req, "volume", source->id, source->size, err) < 0 ||
	    check_encryption(req, "volume", source->id, source->has_key, err) < 0)
		return -1;
	add_source(call, "volume", source->id, properties, &made->source);
	made->has_key = source->has_key;
	char *key = origin_key(&call->arena, source->name);
	if (catalog_lock_key(node->catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = clone_by(call, source, req->id, made->name, properties, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

int clone_dataset(struct rpc_call *call, const CreateDatasetRequest *req,
		  struct zfs_properties *properties, struct dataset *made, struct error *err)
{
	if (*req->source_snapshot)
		return from_snapshot(call, req, properties, made, err);
	return from_dataset(call, req, properties, made, err);
}
