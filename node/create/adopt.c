/* SPDX-License-Identifier: MPL-2.0 */
/*
 * AdoptDataset of zcsi.v1.Agent.
 *
 * Invariant: a received dataset gets all properties below _received, where it is not a volume; then
 * one `zfs rename` makes it one. It is never destroyed. Calls for one id run one at a time.
 */
#include <inttypes.h>
#include <string.h>

#include "common/volume/escape.h"
#include "node/agent/agent.h"
#include "node/agent/promise.h"
#include "node/attach/unused.h"
#include "node/create/made.h"
#include "node/host/size_limits.h"
#include "node/record/property.h"
#include "node/record/received.h"
#include "node/service.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "node/zfs/zfs_table.h"

static int read_received(struct arena *arena, struct received *ret, struct error *err)
{
	const char *properties = received_properties(zfs_is_the_kernels());
	const char *list[] = {
		"zfs", "list", "-H",      "-d", "1", "-t", "filesystem,volume,snapshot",
		"-o",  "name", ret->name, NULL};
	auto_free char *listed = NULL;
	struct zfs_fields row;

	if (zfs_table_one(arena, ret->name, properties, &row, err) < 0)
		return err->code != ERR_NOT_FOUND
			       ? -1
			       : fail(err, ERR_NOT_FOUND,
				      "there is no '%s', which 'zcsi receive' would have made",
				      ret->name);
	if (zfs_run_once(&(struct exec){.argv = list, .max_output = ZFS_LIST_OUTPUT_MAX}, &listed,
			 err) < 0)
		return -1;
	received_count(listed, ret);
	if (received_parse(arena, &row, ret))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION, "'%s' is no filesystem and no zvol", ret->name);
}

/* Returns the value of a property in the request, or NULL. */
static char *wished(const AdoptDatasetRequest *req, const char *name)
{
	for (size_t i = 0; i < req->n_properties; i++)
		if (strcmp(req->properties[i]->name, name) == 0)
			return req->properties[i]->value;
	return NULL;
}

static struct dataset adopted(struct arena *arena, const char *parent,
			      const AdoptDatasetRequest *req, const struct received *received)
{
	return (struct dataset){.id = req->id,
				.name = dataset_name(arena, parent, req->id),
				.parameters = req->parameters,
				.root = wished(req, "zcsi:root"),
				.schedule = wished(req, "zcsi:keep"),
				.format = format_find(req->format),
				.guid = received->guid,
				.creation = received->creation,
				.size = received->zvol ? received->volsize : req->size,
				.published = (char *)"-",
				.was_used = true,
				.has_key = !strcmp(received->root, received->name),
				.snapshots = received->snapshots};
}

/*
 * Set all properties of a volume on a received dataset. canmount is set first: a filesystem that
 * gets a mountpoint is mounted unless canmount forbids it. zcsi:published makes the volume count as
 * used, because it has data.
 */
static int describe_adopted(struct arena *arena, const struct received *received,
			    const AdoptDatasetRequest *req, const struct dataset *made,
			    struct error *err)
{
	struct zfs_properties unmounted = {.n = 0}, properties = {.n = 0};

	if (!made->format->zvol)
		zfs_property(&unmounted, "canmount", "noauto");
	made_properties(arena, made, false, &properties);
	zfs_property(&properties, "zcsi:version", DATASET_VERSION);
	zfs_property(&properties, "zcsi:volume", escape_text(arena, made->id));
	zfs_property(&properties, "zcsi:published", "-");
	if (*req->parameters)
		zfs_property(&properties, "zcsi:parameters", escape_text(arena, req->parameters));
	for (size_t i = 0; i < req->n_properties; i++)
		zfs_property(&properties, req->properties[i]->name, req->properties[i]->value);
	if (zfs_set(received->name, &unmounted, err) < 0)
		return -1;
	return zfs_set(received->name, &properties, err);
}

static int take_in(struct rpc_call *call, const AdoptDatasetRequest *req,
		   const struct received *received, const struct dataset *made,
		   struct dataset **ret, struct error *err)
{
	struct node *node = call->app;
	struct dataset before = *made;

	before.name = (char *)received->name;
	if (unused_check(&call->arena, &before, err) < 0 ||
	    describe_adopted(&call->arena, received, req, made, err) < 0)
		return -1;
	if (zfs_rename(received->name, made->name, err) < 0) {
		if (err->code == ERR_ALREADY_EXISTS &&
		    made_already(call, req->id, made->name, ret, err) == 0)
			return fail(err, ERR_ALREADY_EXISTS,
				    "another dataset became volume '%s' meanwhile: rename one of "
				    "the two, and try again",
				    req->id);
		agent_reread_on_error(call, made->name, err);
		return -1;
	}
	*ret = made_put(call, made);
	/* The next scan adds the received snapshots to the catalog. */
	catalog_rescan_soon(node->catalog);
	return 0;
}

static int take_in_within_limits(struct rpc_call *call, const AdoptDatasetRequest *req,
				 struct dataset **ret, struct error *err)
{
	const char *parent = catalog_parent(((struct node *)call->app)->catalog);
	struct received received = {.name = dataset_received_name(&call->arena, parent, req->id)};
	const struct received_wish wish = {req->guid, req->size, format_find(req->format)};

	if (zfs_is_volume(received.name, req->id, &received.described, err) < 0 ||
	    read_received(&call->arena, &received, err) < 0 ||
	    received_check(&received, &wish, err) < 0)
		return -1;
	const struct dataset made = adopted(&call->arena, parent, req, &received);
	struct pledge pledge = {.id = req->id, .size = size_limits_promise(&made)};
	if (size_limits_begin(call, &pledge, err) < 0)
		return -1;
	int failed = take_in(call, req, &received, &made, ret, err);
	size_limits_end(call, &pledge);
	return failed;
}

static int check_adoption(const AdoptDatasetRequest *req, struct error *err)
{
	const struct format *format = format_find(req->format);

	if (agent_text(req->id, "id", err) < 0 ||
	    made_check_format(req->id, req->format, format, err) < 0)
		return -1;
	if (!req->claim)
		return fail(err, ERR_INVALID_ARGUMENT, "volume '%s' is adopted without a claim",
			    req->id);
	for (size_t i = 0; i < req->n_properties; i++) {
		if (property_check(req->properties[i], err) < 0)
			return -1;
		if (strncmp(req->properties[i]->name, "zcsi:", strlen("zcsi:")) != 0)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "property '%s' is set on the dataset before it is adopted",
				    req->properties[i]->name);
	}
	return 0;
}

int adopt_dataset(struct rpc_call *call, const AdoptDatasetRequest *req, AdoptDatasetResponse *rsp,
		  struct error *err)
{
	struct dataset *dataset;

	if (check_adoption(req, err) < 0)
		return -1;
	if (node_find(call, req->id, &dataset, err) < 0) {
		if (err->code != ERR_NOT_FOUND || promise_begin(call, req->id, req->claim, err) < 0)
			return -1;
		int failed = take_in_within_limits(call, req, &dataset, err);
		promise_end(call, req->id, req->claim);
		if (failed)
			return fail_context(err, "volume '%s' cannot be made", req->id);
	} else if (!req->guid || dataset->guid != req->guid) {
		return fail(err, ERR_ALREADY_EXISTS, "volume '%s' exists", req->id);
	}
	made_unload_key(call, dataset);
	rsp->dataset = agent_dataset(call, dataset);
	return 0;
}
