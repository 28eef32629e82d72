/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Idle publications. An orchestrator that loses a ControllerUnpublishVolume, such as Nomad while no
 * controller runs, leaves a publication for ever. After NodeUnstageVolume this publication need not
 * keep other nodes from the volume.
 *
 * Invariant: a publication is idle only while the volume is not mounted on its node: the mark is
 * removed before a mount and set after the last unmount. A crash in between leaves it unset, and a
 * repeated NodeUnstageVolume sets it. A node that mounts by NFS cannot write the record, which is
 * in the pool of another host, so its publications are never idle. A zcsi:staged of an earlier boot
 * stays, though NodeUnstageVolume is called after a power cut too: it shows that the intent log may
 * have data (node/attach/complete.h).
 */
#include "node/csi/idle.h"

#include <string.h>

#include "common/log.h"
#include "node/catalog/change.h"
#include "node/mount/kind.h"
#include "node/record/publication_change.h"
#include "node/record/share.h"
#include "node/zfs/zfs.h"

/* Set zcsi:published to the list, unless it is NULL, and zcsi:staged to "-" if `ended` is true. */
static int record(struct rpc_call *call, const struct dataset *dataset,
		  const struct publication_list *list, bool ended, const struct dataset **ret,
		  struct error *err)
{
	struct node *node = call->app;
	struct zfs_properties properties = {.n = 0};
	struct dataset *changed = dataset_copy(&call->arena, dataset);

	if (list) {
		changed->published = publication_format(&call->arena, list);
		changed->was_used = true;
		zfs_property(&properties, "zcsi:published", changed->published);
	}
	if (ended) {
		changed->staged = arena_strdup(&call->arena, "");
		zfs_property(&properties, "zcsi:staged", "-");
	}
	if (zfs_set(changed->name, &properties, err) < 0)
		return -1;
	catalog_put(node->catalog, changed);
	*ret = changed;
	return 0;
}

int idle_end(struct rpc_call *call, const struct dataset *dataset, int access_mode,
	     const struct dataset **ret, struct error *err)
{
	const struct node *node = call->app;
	const struct publication want = {
		.node_id = node->id, .access_mode = access_mode, .address = ""};
	struct publication_list published, active;

	*ret = dataset;
	publication_parse(&call->arena, dataset->published, &published);
	int staged = publication_stage(&call->arena, dataset->id, &published, &want, &active, err);
	return staged > 0 ? record(call, dataset, &active, false, ret, err) : staged;
}

/* Returns true if the volume is mounted on this host, other than for its export. */
static bool is_in_use(struct rpc_call *call, const char *dataset)
{
	const char *share = share_path(&call->arena, dataset);
	struct mount_table table;
	struct error err;

	if (mount_table_read(&call->arena, &table, &err) < 0)
		return true;
	for (size_t i = 0; i < table.n; i++)
		if (!mount_is_network(&table.rows[i]) && mount_is_on(&table.rows[i], dataset) &&
		    strcmp(table.rows[i].target, share) != 0)
			return true;
	return false;
}

void idle_begin(struct rpc_call *call, const struct dataset *dataset)
{
	const struct node *node = call->app;
	struct publication_list published, idle;
	const struct dataset *changed;
	struct error err;

	publication_parse(&call->arena, dataset->published, &published);
	bool rests = publication_rest(&call->arena, &published, node->id, &idle);
	bool ended = strcmp(dataset->staged, node->boot) == 0;
	if ((!rests && !ended) || is_in_use(call, dataset->name))
		return;
	if (record(call, dataset, rests ? &idle : NULL, ended, &changed, &err) < 0)
		log_warn("cannot record that a volume is unmounted", log_str("volume", dataset->id),
			 log_str("error", err.text));
}
