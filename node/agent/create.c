/* SPDX-License-Identifier: MPL-2.0 */
/*
 * CreateDataset and AdoptDataset of zcsi.v1.Agent.
 *
 * Invariant: a dataset is created by one `zfs create` or `zfs clone` that sets all properties. If
 * that fails, the dataset is destroyed, so no incomplete volume remains. A received dataset gets
 * all properties below _received, where it is not a volume; then one `zfs rename` makes it one. It
 * is never destroyed. Calls for one id run one at a time.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "common/volume/escape.h"
#include "common/log.h"
#include "node/agent/agent.h"
#include "node/export/exports.h"
#include "node/attach/family.h"
#include "node/zfs/key.h"
#include "node/agent/promise.h"
#include "node/agent/clone.h"
#include "node/agent/trash.h"
#include "node/attach/unused.h"
#include "node/copy/membership.h"
#include "node/host/owner.h"
#include "node/host/size_limits.h"
#include "node/record/members.h"
#include "node/record/push_rules.h"
#include "node/record/property.h"
#include "node/record/received.h"
#include "node/schedule/keeper.h"
#include "node/service.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

static int check(const CreateDatasetRequest *req, struct error *err)
{
	if (agent_text(req->id, "id", err) < 0)
		return -1;
	if (req->size <= 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "size of volume '%s' is %" PRId64 "; give a positive number of bytes",
			    req->id, req->size);
	const struct format *format = agent_format(req);
	if (!format || !format->made)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "format of volume '%s' is '%.64s'; use zfs, block, ext4 or xfs",
			    req->id, req->format);
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

/* Add the native properties of the format. A new zvol gets size and reservation by arguments. */
static void add_native(struct arena *arena, const struct dataset *made, bool clone,
		       struct zfs_properties *properties)
{
	const char *size = arena_printf(arena, "%" PRId64, made->size);

	if (!made->format->zvol) {
		zfs_property(properties, "canmount", "noauto");
		zfs_property(properties, "mountpoint", exports_mountpoint(arena, made->name));
		zfs_property(properties, "refquota", size);
	} else if (clone) {
		zfs_property(properties, "volsize", size);
	}
	if (made->format->zvol)
		zfs_property(properties, "zcsi:format", made->format->name);
	if (made->reserved && (clone || !made->format->zvol))
		zfs_property(properties, "refreservation", agent_reservation(arena, made));
}

static bool is_reserved(const CreateDatasetRequest *req)
{
	for (size_t i = 0; i < req->n_properties; i++)
		if (!strcmp(req->properties[i]->name, "refreservation"))
			return strcmp(req->properties[i]->value, "none") != 0;
	return false;
}

/*
 * Returns true for a property to pass on to zfs as it is. add_native has added refreservation, and
 * `zfs clone` takes the encryption from the source and refuses the property.
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

/* Unload the key that `zfs create` leaves loaded: only staging loads keys. */
static void unload_key(struct rpc_call *call, const struct dataset *dataset)
{
	struct error err;

	if (!dataset->has_key || *dataset->source ||
	    unused_check_mounts(&call->arena, dataset->name, &err) < 0 ||
	    family_unload_key(call, dataset->name, &err) == 0)
		return;
	log_warn("cannot unload the key of a new volume, it stays loaded until after the next use",
		 log_str("volume", dataset->id), log_str("error", err.text));
}

/* A dataset exists in ZFS but not in the catalog: return it if it is the volume, or fail. */
static int adopt(struct rpc_call *call, const char *id, const char *name, struct dataset **ret,
		 struct error *err)
{
	if (agent_reread(call, name, err) < 0)
		return -1;
	if (node_find(call, id, ret, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND)
		return -1;
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' cannot be created: the dataset '%s' exists and is not a zcsi "
		    "volume; rename or destroy it",
		    id, name);
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
			       .format = agent_format(req),
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
	add_native(&call->arena, &made, clone, &properties);
	add_properties(&call->arena, req, clone, &properties, &made);
	int failed = clone ? clone_dataset(call, req, &properties, &made, err)
			   : create_new(req, &properties, &made, err);
	if (failed) {
		if (err->code == ERR_ALREADY_EXISTS)
			return adopt(call, req->id, name, ret, err);
		if (err->code == ERR_RESOURCE_EXHAUSTED)
			remove_incomplete(call, req->id, begun);
		else if (!clone)
			agent_reread_on_error(call, name, err);
		return fail_context(err, "volume '%s' cannot be created", req->id);
	}
	made.creation = time(NULL);
	catalog_put(node->catalog, &made);
	if (made.schedule)
		keeper_look(node->keeper);
	*ret = dataset_copy(&call->arena, &made);
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
		if (failed < 0)
			return -1;
	}
	unload_key(call, dataset);
	rsp->dataset = agent_dataset(call, dataset);
	return 0;
}

/* AdoptDataset */

static int read_received(struct arena *arena, struct received *ret, struct error *err)
{
	const char *properties = received_properties(zfs_is_the_kernels());
	const char *get[] = {"zfs",      "get",     "-Hp", "-o", "property,value",
			     properties, ret->name, NULL};
	const char *list[] = {
		"zfs", "list", "-H",      "-d", "1", "-t", "filesystem,volume,snapshot",
		"-o",  "name", ret->name, NULL};
	auto_free char *printed = NULL, *listed = NULL;

	if (zfs_run_once(&(struct exec){.argv = get}, &printed, err) < 0)
		return err->code != ERR_NOT_FOUND
			       ? -1
			       : fail(err, ERR_NOT_FOUND,
				      "there is no '%s', which 'zcsi receive' would have made",
				      ret->name);
	if (zfs_run_once(&(struct exec){.argv = list, .max_output = ZFS_LIST_OUTPUT_MAX}, &listed,
			 err) < 0)
		return -1;
	received_count(listed, ret);
	if (received_parse(arena, printed, ret))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "'%s' is no filesystem and no zvol, or has a property with a line break",
		    ret->name);
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
	add_native(arena, made, false, &properties);
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
		    adopt(call, req->id, made->name, ret, err) == 0)
			return fail(err, ERR_ALREADY_EXISTS,
				    "another dataset became volume '%s' meanwhile: rename one of "
				    "the two, and try again",
				    req->id);
		agent_reread_on_error(call, made->name, err);
		return -1;
	}
	catalog_put(node->catalog, made);
	if (made->schedule)
		keeper_look(node->keeper);
	/* The next scan adds the received snapshots to the catalog. */
	catalog_rescan_soon(node->catalog);
	*ret = dataset_copy(&call->arena, made);
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

	if (agent_text(req->id, "id", err) < 0)
		return -1;
	if (!format || !format->made)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "format of volume '%s' is '%.64s'; use zfs, block, ext4 or xfs",
			    req->id, req->format);
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
	unload_key(call, dataset);
	rsp->dataset = agent_dataset(call, dataset);
	return 0;
}
