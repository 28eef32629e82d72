/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Reading and destroying the copies of this host.
 *
 * Invariant: a copy is destroyed only if ZFS has just shown that it is of the lineage that was
 * asked for, and of no later owner than the caller, with replica_key locked, so no stream is
 * received into it meanwhile, and not with a recursive or forced destroy, so ZFS refuses while the
 * copy is in use.
 */
#include "node/replica/replica.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/mount/kind.h"
#include "node/record/dataset.h"
#include "node/record/ownership.h"
#include "node/record/members.h"
#include "node/record/scheduled.h"
#include "node/record/snapshot.h"
#include "node/service.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "node/zfs/zfs_table.h"
#include "transport/tls_names.h"

#define LOCK_MS 3000 /* longest wait of DropCopy for the end of a stream to the copy */

const char replica_columns[] = "guid,creation,used,available,receive_resume_token,zcsi:members,"
			       "zcsi:epoch,zcsi:accepted,zcsi:snapshot,userrefs,clones";

char *replica_name(struct arena *arena, const char *parent, const char *id)
{
	return dataset_name(arena, arena_printf(arena, "%s/" REPLICA_FOLDER, parent), id);
}

char *replica_key(struct arena *arena, const char *name)
{
	return arena_printf(arena, "copy %s", name);
}

int replica_make_folder(struct arena *arena, const char *parent, const char *folder,
			struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	zfs_property(&properties, "canmount", "off");
	zfs_property(&properties, "mountpoint", "none");
	zfs_property(&properties, "readonly", "on");
	zfs_property(&properties, "volmode", "none");
	if (zfs_create(arena_printf(arena, "%s/%s", parent, folder), &properties, err) == 0)
		return 0;
	return err->code == ERR_ALREADY_EXISTS ? 0 : -1;
}

/* Returns true for a snapshot that zcsi took: for copies, a backup or CSI, or by a schedule. */
static bool is_ours(const char *leaf, const struct zfs_fields *row)
{
	struct scheduled ignored;

	return !strncmp(leaf, SNAPSHOT_PUSHED, strlen(SNAPSHOT_PUSHED)) ||
	       !strncmp(leaf, SNAPSHOT_BACKUP, strlen(SNAPSHOT_BACKUP)) ||
	       *zfs_fields_text(row, "zcsi:snapshot") || scheduled_parse(leaf, &ignored);
}

static int64_t number(const struct zfs_fields *row, const char *property)
{
	return strtoll(zfs_fields_text(row, property), NULL, 10);
}

static void add_snapshot(struct arena *arena, const struct zfs_fields *row, const char *at,
			 CopyState *copy)
{
	CopySnapshot *snapshot = new_copy_snapshot(arena);

	snapshot->name = (char *)at + 1;
	snapshot->guid = strtoull(zfs_fields_text(row, "guid"), NULL, 10);
	snapshot->creation = number(row, "creation");
	snapshot->ours = is_ours(at + 1, row);
	snapshot->kept = number(row, "userrefs") || *zfs_fields_text(row, "clones");
	copy->snapshots[copy->n_snapshots++] = snapshot;
}

/* Returns the node of zcsi:accepted; "" if the copy has got a later epoch since. */
static const char *accepted_by(struct arena *arena, const struct zfs_fields *row, int64_t epoch)
{
	const char *node;
	int64_t accepted;

	if (!mark_parse(arena, zfs_fields_text(row, "zcsi:accepted"), &node, &accepted) ||
	    accepted != epoch)
		return "";
	return node;
}

static bool add_dataset(struct arena *arena, const struct zfs_fields *row, CopyState *copy)
{
	struct members members;

	copy->name = (char *)row->name;
	copy->used = number(row, "used");
	copy->available = number(row, "available");
	copy->token = zfs_fields_text(row, "receive_resume_token");
	copy->epoch = number(row, "zcsi:epoch");
	copy->accepted_node_id = arena_strdup(arena, accepted_by(arena, row, copy->epoch));
	if (!members_parse(arena, zfs_fields_text(row, "zcsi:members"), &members))
		return false;
	copy->lineage = (char *)members.lineage;
	copy->n_node_ids = members.n;
	copy->node_ids = arena_alloc(arena, (members.n + 1) * sizeof(*copy->node_ids));
	for (size_t i = 0; i < members.n; i++)
		copy->node_ids[i] = (char *)members.nodes[i];
	return true;
}

CopyState *replica_parse(struct arena *arena, const struct zfs_table *table, size_t most)
{
	CopyState *copy = new_copy_state(arena);

	copy->snapshots = arena_alloc(arena, most * sizeof(*copy->snapshots));
	for (size_t i = table->n; i-- > 0;) {
		const struct zfs_fields *row = &table->rows[i];
		const char *at = strchr(row->name, '@');
		if (row->damaged || (!at && !add_dataset(arena, row, copy)))
			return NULL;
		if (!at)
			continue;
		copy->more = copy->n_snapshots == most;
		if (!copy->more)
			add_snapshot(arena, row, at, copy);
	}
	return *copy->name ? copy : NULL;
}

static int read_most(struct arena *arena, const char *parent, const char *id, size_t most,
		     CopyState **ret, struct error *err)
{
	const char *name = replica_name(arena, parent, id);
	const struct zfs_query query = {
		.words = (const char *const[]){"-d", "1", "-t", "filesystem,volume,snapshot", NULL},
		.properties = replica_columns,
		.names = (const char *const[]){name, NULL}};
	struct zfs_table table;

	*ret = NULL;
	if (zfs_table_read(arena, &query, &table, err) < 0)
		return zfs_is_missing(parent, err);
	if (zfs_table_check(&table, err) < 0)
		return -1;
	*ret = replica_parse(arena, &table, most);
	if (!*ret)
		return fail(err, ERR_UNAVAILABLE,
			    "'zfs get' printed of '%s' what is not a copy; look at its property "
			    "zcsi:members",
			    name);
	return 0;
}

int replica_read(struct arena *arena, const char *parent, const char *id, CopyState **ret,
		 struct error *err)
{
	return read_most(arena, parent, id, REPLICA_SNAPSHOTS, ret, err);
}

int replica_read_all(struct arena *arena, const char *parent, const char *id, CopyState **ret,
		     struct error *err)
{
	return read_most(arena, parent, id, REPLICA_ALL, ret, err);
}

int replica_discard(const CopyState *copy, struct error *err)
{
	const char *argv[] = {"zfs", "receive", "-A", copy->name, NULL};

	if (!*copy->token)
		return 0;
	return zfs_run(argv, err);
}

int replica_check_caller(const struct tls_names *caller, const char *const *nodes, size_t n,
			 const char *id, struct error *err)
{
	if (!caller)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (tls_names_have(caller, nodes[i]))
			return 0;
	auto_free char *names = tls_names_text(caller);
	return fail(err, ERR_PERMISSION_DENIED,
		    "the certificate of the caller is for %s, and not for a node that has data of "
		    "volume '%s'",
		    names, id);
}

int replica_check_known_caller(const struct tls_names *caller, const CopyState *copy,
			       const char *id, struct error *err)
{
	return replica_check_caller(caller, (const char *const *)copy->node_ids, copy->n_node_ids,
				    id, err);
}

int replica_check_lineage(const CopyState *copy, const char *lineage, const char *id,
			  struct error *err)
{
	if (strcmp(copy->lineage, lineage) == 0)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "'%s' is a copy of another volume that had the name '%s'", copy->name, id);
}

int replica_check_epoch(const CopyState *copy, int64_t epoch, const char *id, struct error *err)
{
	if (epoch >= copy->epoch)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' has another owner since: the copy '%s' is of epoch %" PRId64
		    ", and the caller of epoch %" PRId64,
		    id, copy->name, copy->epoch, epoch);
}

int replica_check_no_volume(const struct node *node, int64_t deadline, const char *id,
			    struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct dataset *volume;

	if (catalog_get(node->catalog, deadline, &arena, id, &volume, err) == 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' holds volume '%s', and cannot have a copy of it", node->id,
			    id);
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

static int check_unmounted(struct arena *arena, const char *name, struct error *err)
{
	struct mount_table table;

	if (mount_table_read(arena, &table, err) < 0)
		return -1;
	for (size_t i = 0; i < table.n; i++)
		if (mount_is_on(&table.rows[i], name))
			return fail(err, ERR_FAILED_PRECONDITION,
				    "the copy '%s' is mounted at '%s'; unmount it first", name,
				    table.rows[i].target);
	return 0;
}

static int destroy(struct arena *arena, const CopyState *copy, struct error *err)
{
	if (check_unmounted(arena, copy->name, err) < 0 || replica_discard(copy, err) < 0)
		return -1;
	if (copy->n_snapshots && zfs_destroy(arena_printf(arena, "%s@%%", copy->name), err) < 0)
		return -1;
	if (zfs_destroy(copy->name, err) == 0)
		return 0;
	/* `zfs receive -A` has destroyed a copy that had no snapshot. */
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

/* Fail unless this node has a pool where copies can be. */
static int check_pool(const struct rpc_call *call, const char *id, struct error *err)
{
	if (request_text(id, "id", err) < 0 ||
	    node_need_pool(call, "the copy of volume", id, err) < 0)
		return -1;
	return 0;
}

int get_copy(struct rpc_call *call, const GetCopyRequest *req, GetCopyResponse *rsp,
	     struct error *err)
{
	const struct node *node = call->app;
	size_t most = req->all ? REPLICA_ALL : REPLICA_SNAPSHOTS;
	struct catalog_pool pool;

	if (check_pool(call, req->id, err) < 0 ||
	    read_most(&call->arena, catalog_parent(node->catalog), req->id, most, &rsp->copy, err) <
		    0)
		return -1;
	catalog_pool(node->catalog, &call->arena, &pool);
	rsp->available = pool.available;
	return 0;
}

int get_dataset_copy(struct rpc_call *call, const GetDatasetCopyRequest *req,
		     GetDatasetCopyResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	CopyState *copy;

	if (check_pool(call, req->id, err) < 0 ||
	    replica_read(&call->arena, catalog_parent(node->catalog), req->id, &copy, err) < 0)
		return -1;
	if (!copy || !copy->n_snapshots)
		return 0;
	rsp->time = copy->snapshots[0]->creation;
	rsp->n_node_ids = copy->n_node_ids;
	rsp->node_ids = copy->node_ids;
	return 0;
}

/* Returns true if the caller has deleted the volume, and another node has owned it since. */
static bool is_obsolete(const DropCopyRequest *req, int64_t epoch)
{
	return req->deleted && epoch > req->epoch;
}

/*
 * Fail while this host has the volume itself: after a failover it returns as a former owner, and
 * makes way for the caller later. Then it has a copy, which the caller can drop.
 */
static int check_made_way(struct rpc_call *call, const DropCopyRequest *req, struct error *err)
{
	const struct node *node = call->app;
	struct members members;
	struct dataset *volume;

	if (catalog_get(node->catalog, call->deadline, &call->arena, req->id, &volume, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	if (!members_parse(&call->arena, volume->members, &members) ||
	    strcmp(members.lineage, req->lineage) != 0 || is_obsolete(req, volume->epoch))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION, "node '%s' holds volume '%s' itself", node->id,
		    req->id);
}

static int drop_locked(struct rpc_call *call, const DropCopyRequest *req, struct error *err)
{
	const struct node *node = call->app;
	CopyState *copy;

	if (replica_read(&call->arena, catalog_parent(node->catalog), req->id, &copy, err) < 0)
		return -1;
	if (!copy)
		return check_made_way(call, req, err);
	if (replica_check_lineage(copy, req->lineage, req->id, err) < 0)
		return -1;
	/* Answer OK to a caller that is no member any more too, so that it does not call again. */
	if (is_obsolete(req, copy->epoch))
		return 0;
	if (replica_check_known_caller(call->caller, copy, req->id, err) < 0 ||
	    replica_check_epoch(copy, req->epoch, req->id, err) < 0)
		return -1;
	if (destroy(&call->arena, copy, err) == 0)
		return 0;
	return fail_context(err, "the copy of volume '%s' on node '%s' cannot be destroyed",
			    req->id, node->id);
}

/* Returns until when to wait for the end of a stream to the copy, which the caller has cut. */
static int64_t lock_until(const struct rpc_call *call)
{
	const int64_t until = now_ms() + LOCK_MS;

	return until < call->deadline ? until : call->deadline;
}

int drop_copy(struct rpc_call *call, const DropCopyRequest *req, DropCopyResponse *rsp,
	      struct error *err)
{
	const struct node *node = call->app;

	(void)rsp;
	if (check_pool(call, req->id, err) < 0)
		return -1;
	const char *name = replica_name(&call->arena, catalog_parent(node->catalog), req->id);
	const char *key = replica_key(&call->arena, name);
	if (catalog_lock_key(node->catalog, lock_until(call), key, err) < 0)
		return fail(err, ERR_ABORTED,
			    "a stream is received into '%s', or it is being changed; try again "
			    "after that",
			    name);
	int failed = drop_locked(call, req, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}
