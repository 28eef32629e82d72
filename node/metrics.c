/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The metrics of zcsi-node: the programs that it runs, the pool and the volumes.
 *
 * Invariant: writing the metrics runs no program. The values of the pool and the volumes are those
 * in the catalog, read at zcsi_catalog_read_timestamp_seconds. If there are more than VOLUMES_MAX
 * volumes, only their totals are written, to limit the number of series.
 */
#include "node/backup/backups.h"
#include "node/metrics.h"

#include "common/metrics.h"
#include "node/catalog/totals.h"
#include "node/stream/copies.h"
#include "node/copy/copy_metrics.h"
#include "node/host/node.h"
#include "node/host/size_limits.h"
#include "node/move/move_metrics.h"
#include "node/owner/owner_metrics.h"
#include "node/repair/mend.h"
#include "node/schedule/keeper.h"
#include "node/space/low_space.h"
#include "node/zfs/zfs_metrics.h"

#define VOLUMES_MAX 1000

enum {
	USABLE,
	READ,
	CAPACITY,
	AVAILABLE,
	VOLUMES,
	TRASHED,
	TRASHED_USED,
	SNAPSHOTS,
	SIZE,
	USED,
	OMITTED
};

static const struct metric pool[] = {
	[USABLE] = METRIC(GAUGE, "zcsi_pool_usable",
			  "1: the pool and the parent dataset can be read.", "dataset"),
	[READ] = METRIC(GAUGE, "zcsi_catalog_read_timestamp_seconds",
			"When all of the pool was last read, in seconds since 1970; 0: never.",
			"dataset"),
	[CAPACITY] = METRIC(GAUGE, "zcsi_pool_size_bytes",
			    "Bytes that everything below the parent uses, and those available.",
			    "dataset"),
	[AVAILABLE] = METRIC(GAUGE, "zcsi_pool_available_bytes",
			     "Bytes that a new volume could use.", "dataset"),
	[VOLUMES] = METRIC(GAUGE, "zcsi_volumes", "Volumes, without deleted ones.", "dataset"),
	[TRASHED] =
		METRIC(GAUGE, "zcsi_trashed_volumes", "Deleted volumes that are kept.", "dataset"),
	[TRASHED_USED] = METRIC(GAUGE, "zcsi_trashed_used_bytes",
				"Bytes that deleted volumes and their snapshots use.", "dataset"),
	[SNAPSHOTS] =
		METRIC(GAUGE, "zcsi_snapshots",
		       "Snapshots of volumes, including those of deleted volumes.", "dataset"),
	[SIZE] = METRIC(GAUGE, "zcsi_volumes_size_bytes", "The sizes of all volumes.", "dataset"),
	[USED] = METRIC(GAUGE, "zcsi_volumes_used_bytes",
			"Bytes that all volumes and their snapshots use.", "dataset"),
	[OMITTED] = METRIC(GAUGE, "zcsi_volumes_omitted",
			   "Volumes without series of their own because there are too many.",
			   "dataset"),
};

static const struct {
	struct metric metric;
	size_t member; /* offset of an int64_t in struct dataset */
	bool read;     /* the value is only known after the volume was read from ZFS */
} volume[] = {
	{METRIC(GAUGE, "zcsi_volume_size_bytes", "The size of a volume.", "volume"),
	 offsetof(struct dataset, size), false},
	{METRIC(GAUGE, "zcsi_volume_used_bytes", "Bytes that a volume and its snapshots use.",
		"volume"),
	 offsetof(struct dataset, used), true},
	{METRIC(GAUGE, "zcsi_volume_available_bytes",
		"Bytes that can still be written to a volume, within its size and the pool.",
		"volume"),
	 offsetof(struct dataset, available), true},
};

static void write_pool(FILE *out, const char *dataset, const struct catalog_totals *totals)
{
	const double values[] = {
		[USABLE] = totals->usable,
		[READ] = (double)totals->read,
		[CAPACITY] = (double)totals->capacity,
		[AVAILABLE] = (double)totals->available,
		[VOLUMES] = (double)totals->n_volumes,
		[TRASHED] = (double)totals->n_trashed,
		[TRASHED_USED] = (double)totals->trashed_used,
		[SNAPSHOTS] = (double)totals->n_snapshots,
		[SIZE] = (double)totals->size,
		[USED] = (double)totals->used,
		[OMITTED] = (double)(totals->n_volumes - totals->volumes.n),
	};

	/* Values that were never read are left out, because 0 would be wrong. */
	for (size_t i = 0; i < (totals->read ? COUNT(pool) : READ + 1); i++) {
		metric_head(&pool[i], out);
		metric_sample(&pool[i], out, values[i], dataset);
	}
}

static void write_volumes(FILE *out, const struct dataset_list *list)
{
	for (size_t i = 0; i < COUNT(volume); i++) {
		metric_head(&volume[i].metric, out);
		for (size_t k = 0; k < list->n; k++) {
			const struct dataset *row = list->rows[k];
			const int64_t *value = (const void *)((const char *)row + volume[i].member);
			if (row->guid || !volume[i].read)
				metric_sample(&volume[i].metric, out, (double)*value, row->id);
		}
	}
}

void node_metrics(void *arg, FILE *out)
{
	const struct node *node = arg;
	struct catalog_totals totals;
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	zfs_metrics_write(out);
	if (!node->catalog)
		return;
	catalog_totals(node->catalog, &arena, VOLUMES_MAX, &totals);
	write_pool(out, catalog_parent(node->catalog), &totals);
	write_volumes(out, &totals.volumes);
	if (totals.read)
		size_limits_metrics_write(node, out);
	copy_metrics_write(node->copies ? node->copies->pusher : NULL, out);
	move_metrics_write(node->copies ? node->copies->mover : NULL, out);
	owner_metrics_write(node, out);
	keeper_metrics_write(out);
	backups_metrics_write(node->copies ? node->copies->backups : NULL, out);
	mend_metrics_write(out);
	low_space_metrics_write(out);
}

int node_ready(void *arg, struct error *err)
{
	const struct node *node = arg;
	struct catalog_pool state = {.problem = ""};
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	if (node->catalog)
		catalog_pool(node->catalog, &arena, &state);
	int result = *state.problem ? fail(err, ERR_UNAVAILABLE, "%s", state.problem) : 0;
	return result;
}
