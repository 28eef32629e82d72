/* SPDX-License-Identifier: MPL-2.0 */
/*
 * AdoptDataset of zcsi.v1.Agent.
 *
 * Invariant: a dataset gets all properties of a volume where it is no volume, and then one `zfs
 * rename` makes it one. It is never destroyed. A dataset that has the name of the volume already is
 * a volume with zcsi:version, so that is set last.
 *
 * zcsi:volume is set first. Until the end it has the id twice, as no other volume, which shows a
 * repeated call that the other properties are those of this adoption. A volume with two ids is one
 * of which a rename has not ended, so after a crash the last step is done as for that
 * (node/change/end_renames.c). Calls for one id, and those for one dataset, run one at a time.
 */
#include <inttypes.h>
#include <string.h>

#include "common/log.h"
#include "common/volume/escape.h"
#include "node/agent/agent.h"
#include "node/agent/origin.h"
#include "node/agent/promise.h"
#include "node/agent/trash.h"
#include "node/create/adoptee.h"
#include "node/create/made.h"
#include "node/host/size_limits.h"
#include "node/record/property.h"
#include "node/service.h"
#include "node/zfs/zfs_read.h"

/* Returns the value of a property in the request, or NULL. */
static char *wished(const AdoptDatasetRequest *req, const char *name)
{
	for (size_t i = 0; i < req->n_properties; i++)
		if (strcmp(req->properties[i]->name, name) == 0)
			return req->properties[i]->value;
	return NULL;
}

static struct dataset adopted(struct arena *arena, const AdoptDatasetRequest *req,
			      const struct adoptee *adoptee)
{
	const struct adoptable *found = &adoptee->found;
	int64_t reserved = found->reserved ? found->reserved : found->reservation;

	return (struct dataset){.id = req->id,
				.name = dataset_name(arena, found->parent, req->id),
				.parameters = req->parameters,
				.root = wished(req, "zcsi:root"),
				.schedule = wished(req, "zcsi:keep"),
				.format = adoptee->format,
				.formatted = adoptee->formatted,
				.guid = found->guid,
				.creation = found->creation,
				.size = adoptee->size,
				.reserved = reserved && !found->zvol ? adoptee->size : reserved,
				.published = (char *)"-",
				.was_used = true,
				.has_key = !strcmp(found->root, found->name),
				.snapshots = found->snapshots};
}

/*
 * Add the native properties, without those by which other drivers limit and reserve space: what the
 * dataset and its snapshots take together.
 */
static void add_native(struct arena *arena, const struct adoptable *found,
		       const struct dataset *made, struct zfs_properties *properties)
{
	made_properties(arena, made, false, properties);
	if (found->quota)
		zfs_property(properties, "quota", "none");
	if (found->reservation && !found->reserved && found->zvol)
		zfs_property(properties, "refreservation", agent_reservation(arena, made));
	if (found->reservation)
		zfs_property(properties, "reservation", "none");
}

/*
 * Set all properties of a volume. canmount is set first: a filesystem that gets a mountpoint is
 * mounted unless canmount forbids it. zcsi:published makes the volume count as used, because it has
 * data.
 */
static int describe_adopted(struct arena *arena, const struct adoptable *found,
			    const AdoptDatasetRequest *req, const struct dataset *made,
			    struct error *err)
{
	struct zfs_properties unmounted = {.n = 0}, properties = {.n = 0};

	if (!made->format->zvol)
		zfs_property(&unmounted, "canmount", "noauto");
	zfs_property(&properties, "zcsi:volume", found->volume);
	add_native(arena, found, made, &properties);
	zfs_property(&properties, "zcsi:published", "-");
	if (made->formatted)
		zfs_property(&properties, "zcsi:formatted", made->format->name);
	if (*req->parameters)
		zfs_property(&properties, "zcsi:parameters", escape_text(arena, req->parameters));
	for (size_t i = 0; i < req->n_properties; i++)
		zfs_property(&properties, req->properties[i]->name, req->properties[i]->value);
	zfs_property(&properties, "zcsi:version", DATASET_VERSION);
	if (zfs_set(found->name, &unmounted, err) < 0)
		return -1;
	return zfs_set(found->name, &properties, err);
}

static bool is_in_place(const struct adoptable *found, const struct dataset *made)
{
	return strcmp(found->name, made->name) == 0;
}

/* Fail because there is a dataset, or even a volume, with the name that the dataset is to get. */
static int fail_taken(struct rpc_call *call, const struct dataset *made, struct error *err)
{
	struct dataset *other;

	if (made_already(call, made->id, made->name, &other, err) < 0)
		return -1;
	return fail(err, ERR_ALREADY_EXISTS,
		    "another dataset became volume '%s' meanwhile: rename one of the two, and try "
		    "again",
		    made->id);
}

static int check_free(struct rpc_call *call, const struct dataset *made, struct error *err)
{
	uint64_t guid;

	if (zfs_guid(made->name, &guid, err) == 0)
		return fail_taken(call, made, err);
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

/* Describe and rename the dataset, while no clone of it can be mounted (trash_lock). */
static int change(struct rpc_call *call, const AdoptDatasetRequest *req,
		  const struct adoptable *found, const struct dataset *made, struct error *err)
{
	struct dataset before = *made;
	auto_close int turn = -1;

	before.name = (char *)found->name;
	if (trash_lock(call, &before, &turn, err) < 0 ||
	    describe_adopted(&call->arena, found, req, made, err) < 0)
		return -1;
	return is_in_place(found, made) ? 0 : zfs_rename(found->name, made->name, err);
}

static int take_in(struct rpc_call *call, const AdoptDatasetRequest *req,
		   const struct adoptable *found, const struct dataset *made, struct dataset **ret,
		   struct error *err)
{
	struct node *node = call->app;
	struct dataset now = *made;
	struct error late;

	if (!is_in_place(found, made) && check_free(call, made, err) < 0)
		return -1;
	if (change(call, req, found, made, err) < 0) {
		if (err->code == ERR_ALREADY_EXISTS)
			return fail_taken(call, made, err);
		agent_reread_on_error(call, made->name, err);
		return -1;
	}
	now.renaming = agent_end_rename(&call->arena, made, &late) < 0;
	if (now.renaming)
		log_warn("cannot end the adoption of a volume, retrying after the pool is reread",
			 log_str("volume", made->id), log_str("error", late.text));
	*ret = made_put(call, &now);
	/* The next scan adds the snapshots to the catalog. */
	catalog_rescan_soon(node->catalog);
	return 0;
}

/* The origin key keeps a reading of the pool from ending the adoption at the same time. */
static int take_in_locked(struct rpc_call *call, const AdoptDatasetRequest *req,
			  const struct adoptable *found, const struct dataset *made,
			  struct dataset **ret, struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;
	const char *key = origin_key(&call->arena, made->name);

	if (catalog_lock_key(catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = take_in(call, req, found, made, ret, err);
	catalog_unlock_key(catalog, key);
	return failed;
}

static int take_in_within_limits(struct rpc_call *call, const AdoptDatasetRequest *req,
				 struct dataset **ret, struct error *err)
{
	struct adoptee adoptee;

	if (adoptee_read(call, req, &adoptee, err) < 0)
		return -1;
	const struct dataset made = adopted(&call->arena, req, &adoptee);
	struct pledge pledge = {.id = req->id, .size = size_limits_promise(&made)};
	if (size_limits_begin(call, &pledge, err) < 0)
		return -1;
	int failed = take_in_locked(call, req, &adoptee.found, &made, ret, err);
	size_limits_end(call, &pledge);
	return failed;
}

/* Two calls with different ids may name the same dataset. */
static int take_in_once(struct rpc_call *call, const AdoptDatasetRequest *req, struct dataset **ret,
			struct error *err)
{
	struct catalog *catalog = ((struct node *)call->app)->catalog;
	const char *key = arena_printf(&call->arena, "adopted %s", adoptee_name(call, req));

	if (catalog_lock_key(catalog, call->deadline, key, err) < 0)
		return -1;
	int failed = take_in_within_limits(call, req, ret, err);
	catalog_unlock_key(catalog, key);
	return failed;
}

static int check_adoption(const AdoptDatasetRequest *req, struct error *err)
{
	const struct format *format = format_find(req->format);

	if (agent_text(req->id, "id", err) < 0 ||
	    (*req->format && made_check_format(req->id, req->format, format, err) < 0))
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
		int failed = take_in_once(call, req, &dataset, err);
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
