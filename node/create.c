/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi.v1.Agent: CreateDataset.
 *
 * Invariant: a dataset is made by one `zfs create` or `zfs clone` that sets everything, so there
 * is no half-made volume. Calls for one id run one at a time.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/escape.h"
#include "node/agent.h"
#include "node/request.h"
#include "node/service.h"

static int check(const CreateDatasetRequest *req, struct error *err)
{
	if (agent_text(req->id, "id", err))
		return -1;
	if (req->size <= 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "size of volume '%s' is %" PRId64 "; give a positive number of bytes",
			    req->id, req->size);
	if (*req->source_snapshot && *req->source_dataset)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume '%s' cannot come from both a snapshot and a volume", req->id);
	for (size_t i = 0; i < req->n_properties; i++)
		if (property_check(req->properties[i], err))
			return -1;
	return 0;
}

/* A reservation is the size, whatever was asked for; *ret is what it is. */
static void add_properties(struct arena *arena, const CreateDatasetRequest *req,
			   struct zfs_properties *properties, struct dataset *ret)
{
	const char *size = arena_printf(arena, "%" PRId64, req->size);

	zfs_property(properties, "canmount", "noauto");
	zfs_property(properties, "mountpoint", "legacy");
	zfs_property(properties, "refquota", size);
	zfs_property(properties, "zcsi:version", DATASET_VERSION);
	zfs_property(properties, "zcsi:volume", escape_text(arena, req->id));
	if (*req->parameters)
		zfs_property(properties, "zcsi:parameters", escape_text(arena, req->parameters));
	for (size_t i = 0; i < req->n_properties; i++) {
		const Property *property = req->properties[i];
		const char *value = property->value;
		if (!strcmp(property->name, "refreservation") && strcmp(value, "none") != 0) {
			value = size;
			ret->reserved = req->size;
		}
		if (!strcmp(property->name, "zcsi:root"))
			ret->root = (char *)value;
		zfs_property(properties, property->name, value);
	}
}

/* zfs says that it exists, but the catalog did not know it: ours, or in our way. */
static int adopt(struct rpc_call *call, const char *id, const char *name, struct dataset **ret,
		 struct error *err)
{
	if (agent_look(call, id, name, err))
		return -1;
	if (!node_find(call, id, ret, err))
		return 0;
	if (err->code != ERR_NOT_FOUND)
		return -1;
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' cannot be made: the dataset '%s' exists and is not a zcsi volume; "
		    "rename or destroy it",
		    id, name);
}

static int create(struct rpc_call *call, const CreateDatasetRequest *req, struct dataset **ret,
		  struct error *err)
{
	struct node *node = call->app;
	char *name = node_dataset_name(call, req->id);
	struct zfs_properties properties = {.n = 0};
	/* The guid, and the time to the second, come when the catalog has read it. */
	struct dataset made = {
		.id = req->id, .name = name, .parameters = req->parameters, .size = req->size};
	bool clone = *req->source_snapshot || *req->source_dataset;

	add_properties(&call->arena, req, &properties, &made);
	int failed = clone ? clone_dataset(call, req, name, &properties, &made.source, err)
			   : zfs_create(name, &properties, err);
	if (failed) {
		if (err->code == ERR_ALREADY_EXISTS)
			return adopt(call, req->id, name, ret, err);
		if (!clone && (err->code == ERR_UNAVAILABLE || err->code == ERR_NOT_FOUND))
			agent_look(call, req->id, name, err);
		return fail_context(err, "volume '%s' is not made", req->id);
	}
	made.creation = time(NULL);
	catalog_put(node->catalog, &made);
	*ret = dataset_copy(&call->arena, &made);
	return 0;
}

int create_dataset(struct rpc_call *call, const CreateDatasetRequest *req,
		   CreateDatasetResponse *rsp, struct error *err)
{
	struct dataset *dataset;

	if (check(req, err))
		return -1;
	if (node_find(call, req->id, &dataset, err)) {
		if (err->code != ERR_NOT_FOUND || create(call, req, &dataset, err))
			return -1;
	}
	rsp->dataset = agent_dataset(&call->arena, dataset);
	return 0;
}
