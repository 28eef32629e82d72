/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A restore: `zfs send` of a snapshot of a backup into a `zfs receive` on the same host.
 *
 * Invariant: all data is copied, so the backup and the new volume do not depend on each other. zfs
 * receives only into a new name below DATASET_RECEIVED, where no dataset is a volume, with -u, so
 * that nothing is mounted, and never with -F. Because it runs without -s, it destroys the dataset
 * of an incomplete stream.
 */
#include "node/backup/restore.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "node/backup/source.h"
#include "node/backup/stored.h"
#include "node/catalog/change.h"
#include "node/copy/header.h"
#include "node/record/dataset.h"
#include "node/stream/pair.h"
#include "node/stream/program.h"
#include "node/zfs/send_flags.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#define LOCK_MS 5000 /* time to wait for another change of the backup or of the dataset */

struct copying {
	const struct restore *restore;
	struct arena *arena;
	const char *parent, *backup; /* names of the parent dataset and of the backup */
	const char *name;            /* name of the new dataset */
	const char *snapshot;
	const char *flags; /* options of `zfs send` */
	struct zfs_properties properties;
};

/*
 * Look for a dataset that an earlier call received. It may be all that is left of a volume, so it
 * is never replaced. If it has the snapshot, the earlier caller was interrupted before
 * AdoptDataset, and *ret_guid is the guid of the dataset; 0: there is no such dataset.
 */
static int find_earlier(const struct copying *copying, uint64_t *ret_guid, struct error *err)
{
	const char *folder = arena_printf(copying->arena, "%s/" DATASET_RECEIVED, copying->parent);
	const char *snapshot =
		arena_printf(copying->arena, "%s%s", copying->name, strchr(copying->snapshot, '@'));
	uint64_t guid;

	*ret_guid = 0;
	if (zfs_create_folder(folder, err) < 0 && err->code != ERR_ALREADY_EXISTS)
		return -1;
	if (zfs_guid(copying->name, &guid, err) < 0)
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	*ret_guid = guid;
	if (zfs_guid(snapshot, &guid, err) == 0) {
		if (guid == copying->restore->guid)
			return 0;
	} else if (err->code != ERR_NOT_FOUND) {
		return -1;
	}
	return fail(err, ERR_ALREADY_EXISTS,
		    "'%s' was received before: make it the volume with 'zcsi adopt %s', or destroy "
		    "it with 'zfs destroy -r %s'",
		    copying->name, copying->restore->as, copying->name);
}

static int find_snapshot(struct copying *copying, struct error *err)
{
	const struct restore *restore = copying->restore;
	BackupState *backup;

	if (stored_read(copying->arena, copying->parent, restore->id, &backup, err) < 0)
		return -1;
	for (size_t i = 0; backup && i < backup->n_snapshots; i++)
		if (backup->snapshots[i]->guid == restore->guid)
			copying->snapshot = arena_printf(copying->arena, "%s@%s", copying->backup,
							 backup->snapshots[i]->name);
	if (copying->snapshot)
		return 0;
	return fail(err, ERR_NOT_FOUND, "the backup of volume '%s' does not have that snapshot",
		    restore->id);
}

/* Read the properties for the new dataset, without those of zcsi, which AdoptDataset sets. */
static int read_properties(struct copying *copying, struct error *err)
{
	ReceiveHeader *header = new_receive_header(copying->arena);
	const char *root;

	if (header_properties(copying->arena, copying->backup, header, &root, err) < 0)
		return -1;
	for (size_t i = 0; i < header->n_properties; i++)
		if (strncmp(header->properties[i]->name, "zcsi:", strlen("zcsi:")) != 0)
			zfs_property(&copying->properties, header->properties[i]->name,
				     header->properties[i]->value);
	/*
	 * A backup that has the key of the parent is not sent raw: the new dataset gets that key
	 * too.
	 */
	copying->flags = send_flags_for(strcmp(root, copying->backup) == 0);
	return 0;
}

static int copy(struct copying *copying, struct error *err)
{
	const char *send[] = {"zfs", "send", copying->flags, copying->snapshot, NULL};
	const char *receive[2 * ZFS_PROPERTIES_MAX + 5] = {"zfs", "receive", "-u"};
	const struct pair pair = {send, receive, copying->restore->rounds};
	size_t n = 3;

	n += zfs_property_options(copying->arena, &copying->properties, receive + n);
	receive[n] = copying->name;
	return pair_run(&pair, err);
}

static int run_locked(struct copying *copying, uint64_t *ret_guid, struct error *err)
{
	if (find_snapshot(copying, err) < 0 || find_earlier(copying, ret_guid, err) < 0)
		return -1;
	if (*ret_guid)
		return 0;
	if (read_properties(copying, err) < 0)
		return -1;
	if (copying->properties.n > ZFS_PROPERTIES_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "'%s' has more than %d properties",
			    copying->backup, ZFS_PROPERTIES_MAX);
	if (copy(copying, err) < 0)
		return fail_context(err, "'%s' is not restored", copying->snapshot);
	return zfs_guid(copying->name, ret_guid, err);
}

static int with_locks(struct copying *copying, uint64_t *ret_guid, struct error *err)
{
	struct catalog *catalog = copying->restore->node->catalog;
	const char *backup = stored_key(copying->arena, copying->backup);
	const char *received = arena_printf(copying->arena, "received %s", copying->name);

	if (catalog_lock_key(catalog, now_ms() + LOCK_MS, backup, err) < 0)
		return -1;
	int failed = catalog_lock_key(catalog, now_ms() + LOCK_MS, received, err);
	if (!failed) {
		failed = run_locked(copying, ret_guid, err);
		catalog_unlock_key(catalog, received);
	}
	catalog_unlock_key(catalog, backup);
	return failed;
}

int restore_run(const struct restore *restore, uint64_t *ret_guid, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *parent = catalog_parent(restore->node->catalog);
	struct copying copying = {.restore = restore,
				  .arena = &arena,
				  .parent = parent,
				  .backup = stored_name(&arena, parent, restore->id),
				  .name = dataset_received_name(&arena, parent, restore->as)};

	if (program_check(err) < 0 || source_check_zfs(restore->node, err) < 0)
		return -1;
	return with_locks(&copying, ret_guid, err);
}
