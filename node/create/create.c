/* SPDX-License-Identifier: MPL-2.0 */
/*
 * CreateDataset of zcsi.v1.Agent.
 *
 * Invariant: a dataset is created by one `zfs create` or `zfs clone` that sets all properties. If
 * that fails, the dataset is destroyed, so no incomplete volume remains. Calls for one id run one
 * at a time.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/volume/escape.h"
#include "common/log.h"
#include "node/agent/agent.h"
#include "node/agent/promise.h"
#include "node/agent/trash.h"
#include "node/copy/membership.h"
#include "node/create/clone.h"
#include "node/create/made.h"
#include "node/host/owner.h"
#include "node/host/size_limits.h"
#include "node/record/members.h"
#include "node/record/push_rules.h"
#include "node/record/property.h"
#include "node/service.h"
#include "node/zfs/key.h"

static int check(const CreateDatasetRequest *req, struct error *err)
{
	if (agent_text(req->id, "id", err) < 0)
		return -1;
	if (req->size <= 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "size of volume '%s' is %" PRId64 "; give a positive number of bytes",
			    req->id, req->size);
	const struct format *format = made_format(req->format);
	if (made_check_format(req->id, req->format, format, err) < 0)
		return -1;
	if (format->zvol && req->size % FORMAT_GRAIN)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "size of volume '%s' is %" PRId64 "; on a zvol it is a multiple of "
			    "%" PRId64,
			    req->id, req->size, FORMAT_GRAIN);
	if (*req->source_snapshot && *req->source_dataset)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume '%s' has both a snapshot and a volume as its source; give one",
			    req->id);
	for (size_t i = 0; i < req->n_properties; i++)
		if (property_check(req->properties[i], err) < 0)
			return -1;
	return 0;
}

/* *ret is the value of zcsi:members; "" for a volume without copies. */
static int take_members(struct rpc_call *call, const CreateDatasetRequest *req, char **ret,
			struct error *err)
{
	const struct node *node = call->app;
	struct members members = {.every = req->sync_every};
	bool good = every_is(req->sync_every);

	*ret = arena_strdup(&call->arena, "");
	if (!req->n_members)
		return 0;
	for (size_t i = 0; i < req->n_members; i++)
		good &= *req->members[i] && members_add(&members, req->members[i]);
	if (!good || !members_have(&members, node->id))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "members of volume '%s' are at most %d nodes, one of them '%s', and "
			    "sync_every is %d to %d seconds",
			    req->id, MEMBERS_MAX, node->id, MEMBERS_EVERY_MIN, MEMBERS_EVERY_MAX);
	if (membership_able(node, err) < 0)
		return fail_context(err, "volume '%s' cannot be created", req->id);
	members.lineage = lineage_new(&call->arena);
	*ret = members_format(&call->arena, &members);
	return 0;
}

/* Check a time of a request; 0: it was not given. */
static int check_seconds(const char *id, const char *name, int64_t seconds, struct error *err)
{
	if (!seconds || every_is(seconds))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "%s of volume '%s' is %" PRId64 "; give %d to %d seconds", name, id, seconds,
		    MEMBERS_EVERY_MIN, MEMBERS_EVERY_MAX);
}

/* *ret is the value of zcsi:push; "" if the request asks for the defaults. */
static int take_push_rules(struct rpc_call *call, const CreateDatasetRequest *req, char **ret,
			   struct error *err)
{
	struct push_rules rules = {.bandwidth = req->bandwidth,
				   .pin_limit = req->pin_limit,
				   .repair_after = req->repair_after,
				   .every = req->n_members ? 0 : req->sync_every};

	if (push_rules_take_snapshots(&rules, req->snapshots, err) < 0 ||
	    push_rules_take_follow(&rules, req->follow, err) < 0 ||
	    (rules.follow == FOLLOW_ANYWHERE && membership_able(call->app, err) < 0))
		return fail_context(err, "volume '%s' cannot be created", req->id);
	*ret = push_rules_format(&call->arena, &rules);
	if (strcmp(*ret, "-") == 0)
		*ret = (char *)"";
	if (rules.bandwidth && !bandwidth_is(rules.bandwidth))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "bandwidth of volume '%s' is %" PRId64
			    "; give %d to %lld bytes a second",
			    req->id, req->bandwidth, BANDWIDTH_MIN, (long long)BANDWIDTH_MAX);
	if (check_seconds(req->id, "pin_limit", rules.pin_limit, err) < 0 ||
	    check_seconds(req->id, "repair_after", rules.repair_after, err) < 0)
		return -1;
	return check_seconds(req->id, "sync_every", rules.every, err);
}

static bool is_reserved(const CreateDatasetRequest *req)
{
	for (size_t i = 0; i < req->n_properties; i++)
		if (!strcmp(req->properties[i]->name, "refreservation"))
			return strcmp(req->properties[i]->value, "none") != 0;
	return false;
}

/*
 * Returns true for a property to pass on to zfs as it is. made_properties has added refreservation,
 * and `zfs clone` takes the encryption from the source and refuses the property.
 */
static bool is_passed_on(const Property *property, bool clone)
{
	return strcmp(property->name, "refreservation") != 0 &&
	       !(clone && !strcmp(property->name, "encryption"));
}

static void add_properties(struct arena *arena, const CreateDatasetRequest *req, bool clone,
			   struct zfs_properties *properties, struct dataset *ret)
{
	zfs_property(properties, "zcsi:version", DATASET_VERSION);
	zfs_property(properties, "zcsi:volume", escape_text(arena, req->id));
	if (*req->parameters)
		zfs_property(properties, "zcsi:parameters", escape_text(arena, req->parameters));
	for (size_t i = 0; i < req->n_properties; i++) {
		const Property *property = req->properties[i];
		if (!is_passed_on(property, clone))
			continue;
		if (!strcmp(property->name, "zcsi:root"))
			ret->root = property->value;
		if (!strcmp(property->name, "zcsi:keep"))
			ret->schedule = property->value;
		zfs_property(properties, property->name, property->value);
	}
}

/*
 * Destroy a volume whose creation failed for lack of space. ZFS creates the dataset, finds no space
 * for its reservation, and destroys it again; but a scan in between may have put it into the
 * catalog, and zfs-fuse fails to destroy it during a scan. A dataset older than `begun`, the start
 * of the call, is kept.
 */
static void remove_incomplete(struct rpc_call *call, const char *id, time_t begun)
{
	struct dataset *half;
	struct error err;

	if (agent_reread(call, node_dataset_name(call, id), &err) < 0 ||
	    node_find(call, id, &half, &err) < 0 || half->creation < begun)
		return;
	if (trash_destroy(call, id, &err) < 0)
		log_warn("cannot destroy a volume that was created without its reservation",
			 log_str("volume", id), log_str("error", err.text));
}

static int create_new(const CreateDatasetRequest *req, struct zfs_properties *properties,
		      struct dataset *made, struct error *err)
{
	for (size_t i = 0; i < req->n_properties; i++)
		made->has_key |= !strcmp(req->properties[i]->name, "encryption");
	if (made->has_key && key_describe(req->key, properties, err) < 0)
		return -1;
	if (made->format->zvol)
		return zfs_create_zvol(made->name, made->size, !made->reserved, properties, err);
	return zfs_create(made->name, properties, err);
}

static int create(struct rpc_call *call, const CreateDatasetRequest *req, struct dataset **ret,
		  struct error *err)
{
	struct node *node = call->app;
	char *name = node_dataset_name(call, req->id);
	struct zfs_properties properties = {.n = 0};
	/* The next scan adds the guid and the exact creation time. */
	struct dataset made = {.id = req->id,
			       .name = name,
			       .parameters = req->parameters,
			       .format = made_format(req->format),
			       .size = req->size,
			       .reserved = is_reserved(req) ? req->size : 0};
	bool clone = *req->source_snapshot || *req->source_dataset;
	time_t begun = time(NULL);

	if (take_members(call, req, &made.members, err) < 0 ||
	    take_push_rules(call, req, &made.push, err) < 0)
		return -1;
	if (*made.members) {
		made.owner = owner_text(node, &call->arena, "");
		zfs_property(&properties, "zcsi:members", made.members);
		zfs_property(&properties, "zcsi:owner", made.owner);
	}
	if (*made.push)
		zfs_property(&properties, "zcsi:push", made.push);
	made_properties(&call->arena, &made, clone, &properties);
	add_properties(&call->arena, req, clone, &properties, &made);
	int failed = clone ? clone_dataset(call, req, &properties, &made, err)
			   : create_new(req, &properties, &made, err);
	if (failed) {
		if (err->code == ERR_ALREADY_EXISTS)
			return made_already(call, req->id, name, ret, err);
		if (err->code == ERR_RESOURCE_EXHAUSTED)
			remove_incomplete(call, req->id, begun);
		else if (!clone)
			agent_reread_on_error(call, name, err);
		return fail_context(err, "volume '%s' cannot be created", req->id);
	}
	made.creation = time(NULL);
	*ret = made_put(call, &made);
	return 0;
}

/* Create a volume; if the pool has no space for that, once more after the trash was emptied. */
static int create_within_limits(struct rpc_call *call, const CreateDatasetRequest *req,
				struct dataset **ret, struct error *err)
{
	struct pledge pledge = {.id = req->id, .size = req->size};

	if (size_limits_begin(call, &pledge, err) < 0)
		return -1;
	int failed = create(call, req, ret, err);
	if (failed && trash_made_room(call, err))
		failed = create(call, req, ret, err);
	size_limits_end(call, &pledge);
	return failed;
}

int create_dataset(struct rpc_call *call, const CreateDatasetRequest *req,
		   CreateDatasetResponse *rsp, struct error *err)
{
	struct dataset *dataset;

	if (check(req, err) < 0)
		return -1;
	if (node_find(call, req->id, &dataset, err) < 0) {
		if (err->code != ERR_NOT_FOUND || promise_begin(call, req->id, req->claim, err) < 0)
			return -1;
		int failed = create_within_limits(call, req, &dataset, err);
		promise_end(call, req->id, req->claim);
		if (failed)
			return -1;
	}
	made_unload_key(call, dataset);
	rsp->dataset = agent_dataset(call, dataset);
	return 0;
}
