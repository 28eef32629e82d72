/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The calls of zcsi.v1.Agent that change properties of a volume: ModifyDataset, PublishDataset,
 * UnpublishDataset.
 *
 * Invariant: a request is checked as a whole before any of it is set, and the catalog has the
 * change before the answer is sent.
 */
#include <inttypes.h>
#include <string.h>

#include "node/host/address.h"
#include "node/agent/agent.h"
#include "node/agent/publish_limit.h"
#include "node/attach/unused.h"
#include "node/copy/membership.h"
#include "node/copy/pusher.h"
#include "node/export/exports.h"
#include "node/host/owner.h"
#include "node/zfs/argv.h"
#include "node/record/members.h"
#include "node/record/property.h"
#include "node/record/publication_change.h"
#include "node/service.h"
#include "node/record/share.h"
#include "node/schedule/keeper.h"
#include "node/stream/copies.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_read.h"

int agent_set(struct rpc_call *call, struct dataset *dataset,
	      const struct zfs_properties *properties, struct error *err)
{
	struct node *node = call->app;

	if (zfs_set(dataset->name, properties, err) == 0) {
		catalog_put(node->catalog, dataset);
		return 0;
	}
	agent_reread_on_error(call, dataset->name, err);
	return fail_context(err, "volume '%s' is not changed", dataset->id);
}

static int set_published(struct rpc_call *call, struct dataset *dataset,
			 const struct publication_list *list, struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	dataset->published = publication_format(&call->arena, list);
	dataset->was_used = true;
	zfs_property(&properties, "zcsi:published", dataset->published);
	return agent_set(call, dataset, &properties, err);
}

/* Record a further publication, unless the node has reached --max-volumes. */
static int admit(struct rpc_call *call, struct dataset *dataset,
		 const struct publication_list *list, const char *node_id, struct error *err)
{
	const struct node *node = call->app;

	if (!node->max_volumes)
		return set_published(call, dataset, list, err);
	const char *key = arena_printf(&call->arena, "volumes of node %s", node_id);
	if (catalog_lock_key(node->catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = publish_limit_check(call, node_id, err);
	if (!failed)
		failed = set_published(call, dataset, list, err);
	catalog_unlock_key(node->catalog, key);
	return failed;
}

const char *agent_reservation(struct arena *arena, const struct dataset *dataset)
{
	return dataset->format->zvol ? "auto" : arena_printf(arena, "%" PRId64, dataset->size);
}

static int check_modify(const ModifyDatasetRequest *req, struct error *err)
{
	if (request_text(req->id, "id", err) < 0)
		return -1;
	for (size_t i = 0; i < req->n_properties; i++) {
		const Property *property = req->properties[i];
		if (property_check(property, err) < 0)
			return -1;
		if (!strcmp(property->name, "zcsi:root"))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "the root directory's permissions are set when the volume is "
				    "made; change them with chown and chmod");
	}
	return 0;
}

/* Add a property of the request to the list. A reservation is always the size of the volume. */
static void take_property(struct arena *arena, const Property *property, struct dataset *dataset,
			  struct zfs_properties *properties)
{
	const char *value = property->value;

	if (!strcmp(property->name, "refreservation")) {
		dataset->reserved = strcmp(value, "none") ? dataset->size : 0;
		value = dataset->reserved ? agent_reservation(arena, dataset) : "none";
	}
	if (!strcmp(property->name, "zcsi:keep"))
		dataset->schedule = property->value;
	zfs_property(properties, property->name, value);
}

int modify_dataset(struct rpc_call *call, const ModifyDatasetRequest *req,
		   ModifyDatasetResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct zfs_properties properties = {.n = 0};
	struct membership_change change;
	struct dataset *dataset;

	if (check_modify(req, err) < 0 || node_find(call, req->id, &dataset, err) < 0 ||
	    membership_modify(call, dataset, req, &change, err) < 0)
		return -1;
	for (size_t i = 0; i < req->n_properties; i++)
		take_property(&call->arena, req->properties[i], dataset, &properties);
	if (change.members) {
		dataset->owner = owner_text(node, &call->arena, dataset->owner);
		dataset->members = change.members;
		zfs_property(&properties, "zcsi:members", dataset->members);
		zfs_property(&properties, "zcsi:owner", dataset->owner);
	}
	if (change.push) {
		zfs_property(&properties, "zcsi:push", change.push);
		dataset->push = change.push;
	}
	if (properties.n && agent_set(call, dataset, &properties, err) < 0)
		return -1;
	if (*dataset->schedule)
		keeper_look(node->keeper);
	rsp->dataset = agent_dataset(call, dataset);
	rsp->knows_copies = true;
	return 0;
}

static int check_publication(const PublishDatasetRequest *req, struct error *err)
{
	if (request_text(req->id, "id", err) < 0)
		return -1;
	if (!req->publication || !*req->publication->node_id)
		return fail(err, ERR_INVALID_ARGUMENT, "publication.node_id is missing");
	if (!access_mode_known(req->publication->access_mode))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "publication.access_mode %d is not known; use one of CSI 1.13",
			    (int)req->publication->access_mode);
	if (*req->publication->address && !address_is(req->publication->address))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "publication.address '%.64s' is not an IP address",
			    req->publication->address);
	return 0;
}

/* Check that the node can use the volume: over NFS if it has an address, else on this host. */
static int check_export(struct rpc_call *call, const PublishDatasetRequest *req,
			PublishDatasetResponse *rsp, struct error *err)
{
	const struct node *node = call->app;

	if (!*req->publication->address && ssh_server())
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume '%s' is on the server '%s' and cannot be used by node '%s', "
			    "which works on it; use it on another node",
			    req->id, ssh_server(), node->id);
	if (!*req->publication->address)
		return 0;
	rsp->server = node_address(node, &call->arena);
	return exports_check(node, err);
}

/*
 * Returns -1, with *err. FAILED_PRECONDITION of PublishDataset means that another node has the
 * volume, and the orchestrator then waits for that node. So other obstacles are UNAVAILABLE.
 */
static int obstacle(struct error *err)
{
	if (err->code == ERR_FAILED_PRECONDITION)
		err->code = ERR_UNAVAILABLE;
	return -1;
}

static int export(struct rpc_call *call, const struct dataset *dataset, struct error *err)
{
	if (exports_apply(&call->arena, call->app, dataset, call->deadline, err) < 0)
		return fail_context(err, "the exports of volume '%s' are not changed", dataset->id);
	return 0;
}

int publish_dataset(struct rpc_call *call, const PublishDatasetRequest *req,
		    PublishDatasetResponse *rsp, struct error *err)
{
	const struct node *node = call->app;
	struct publication_list published, wanted;
	struct dataset *dataset;

	if (check_publication(req, err) < 0)
		return -1;
	if (node_find(call, req->id, &dataset, err) < 0 || check_export(call, req, rsp, err) < 0)
		return obstacle(err);
	struct publication want = {.node_id = req->publication->node_id,
				   .access_mode = req->publication->access_mode,
				   .readonly = req->publication->readonly,
				   .address = req->publication->address};
	publication_parse(&call->arena, dataset->published, &published);
	int admitted =
		publication_admit(&call->arena, req->id, node->id, &published, &want, &wanted, err);
	if (admitted < 0)
		return -1;
	if ((admitted && admit(call, dataset, &wanted, want.node_id, err) < 0) ||
	    (*want.address && export(call, dataset, err) < 0))
		return obstacle(err);
	if (*want.address)
		rsp->share = share_path(&call->arena, dataset->name);
	if (publication_writes(&want)) {
		rsp->root = dataset->root;
		rsp->maker = argv_uid();
	}
	rsp->dataset = agent_dataset(call, dataset);
	return 0;
}

/*
 * Push a volume whose last publication has ended to its copies: the node that uses it next has all
 * data soon, and a move has little left to send.
 */
static void push(const struct rpc_call *call, const struct dataset *dataset)
{
	const struct node *node = call->app;

	if (*dataset->members && !push_rules_parse(dataset->push).paused)
		pusher_push(node->copies->pusher, dataset->id);
}

/*
 * If the publication of this host, or one that cannot be read, is to be withdrawn, check that this
 * host does not use the volume.
 */
static int check_unused(struct rpc_call *call, const struct dataset *dataset,
			const struct publication_list *list, const char *node_id, struct error *err)
{
	const struct node *node = call->app;
	bool exported = false, goes = false;

	for (size_t i = 0; i < list->n; i++) {
		const struct publication *row = &list->rows[i];
		bool named = !*node_id || strcmp(row->node_id, node_id) == 0;
		exported |= *row->address != '\0';
		goes |= named && (publication_is_unreadable(row) ||
				  (!*row->address && strcmp(row->node_id, node->id) == 0));
	}
	if (!goes)
		return 0;
	return exported ? unused_check_mounts_beside(&call->arena, dataset->name,
						     share_path(&call->arena, dataset->name), err)
			: unused_check(&call->arena, dataset, err);
}

int unpublish_dataset(struct rpc_call *call, const UnpublishDatasetRequest *req,
		      UnpublishDatasetResponse *rsp, struct error *err)
{
	struct publication_list published, left;
	struct dataset *dataset;

	(void)rsp;
	if (request_text(req->id, "id", err) < 0)
		return -1;
	if (node_find(call, req->id, &dataset, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	publication_parse(&call->arena, dataset->published, &published);
	if (req->unused && check_unused(call, dataset, &published, req->node_id, err) < 0)
		return fail_context(err, "volume '%s' stays attached", req->id);
	bool changes = publication_withdraw(&call->arena, &published, req->node_id, &left);
	if (changes && set_published(call, dataset, &left, err) < 0)
		return -1;
	if (changes && !left.n)
		push(call, dataset);
	/* Export even without a change: an earlier call may have failed after it set the record. */
	return export(call, dataset, err);
}
