/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The properties, the key and the place in the catalog of a volume that is made.
 *
 * Invariant: a volume is in the catalog only after its dataset has all properties of a volume.
 */
#include "node/create/made.h"

#include <inttypes.h>

#include "common/log.h"
#include "node/agent/agent.h"
#include "node/attach/family.h"
#include "node/attach/unused.h"
#include "node/export/exports.h"
#include "node/schedule/keeper.h"

const struct format *made_format(const char *name)
{
	return format_find(*name ? name : FORMAT_ZFS);
}

int made_check_format(const char *id, const char *name, const struct format *format,
		      struct error *err)
{
	if (format && format->made)
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "format of volume '%s' is '%.64s'; use zfs, block, ext4 or xfs", id, name);
}

void made_properties(struct arena *arena, const struct dataset *made, bool clone,
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

void made_unload_key(struct rpc_call *call, const struct dataset *dataset)
{
	struct error err;

	if (!dataset->has_key || *dataset->source ||
	    unused_check_mounts(&call->arena, dataset->name, &err) < 0 ||
	    family_unload_key(call, dataset->name, &err) == 0)
		return;
	log_warn("cannot unload the key of a new volume, it stays loaded until after the next use",
		 log_str("volume", dataset->id), log_str("error", err.text));
}

int made_already(struct rpc_call *call, const char *id, const char *name, struct dataset **ret,
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

struct dataset *made_put(struct rpc_call *call, const struct dataset *made)
{
	const struct node *node = call->app;

	catalog_put(node->catalog, made);
	if (made->schedule)
		keeper_look(node->keeper);
	return dataset_copy(&call->arena, made);
}
