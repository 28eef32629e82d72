/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Emptying the trash early. The share of the pool that is free is computed from the parent dataset:
 * the bytes available to a new volume, divided by the sum of these and the bytes that all volumes
 * use.
 *
 * Invariant: nothing is destroyed because of a figure that is unknown or old. The available space
 * is read again before the first volume is destroyed, space that ZFS has yet to free counts as
 * free, and so does what each destroyed volume used. One run may destroy several volumes; for
 * SETTLE_MS after any volume was destroyed, for whatever reason, no run begins, until the figures
 * are right again. A volume stays for its time if it was not deleted by a call (dataset.keep), if
 * its deletion is in the future, or if anything depends on it (reaper_destroy).
 */
#include "node/space/low_space.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/metrics.h"
#include "node/agent/origin.h"
#include "node/agent/reaper.h"
#include "node/catalog/change.h"
#include "node/record/scheduled.h"
#include "node/zfs/zfs_read.h"

#define SETTLE_MS 30000

enum { VOLUMES, BYTES };

static const struct metric metrics[] = {
	[VOLUMES] = METRIC(COUNTER, "zcsi_trash_emptied_early_total",
			   "Deleted volumes that were destroyed before their time, because the "
			   "pool was full."),
	[BYTES] = METRIC(COUNTER, "zcsi_trash_emptied_early_bytes_total",
			 "Bytes that these volumes and their snapshots used."),
};

static _Atomic int64_t totals[COUNT(metrics)]; /* since the start */

/* Returns how many more bytes must become free until `percent` of `capacity` is free; or 0. */
static int64_t lacking(int64_t available, int64_t capacity, unsigned percent)
{
	int64_t wanted = capacity / 100 * percent;

	return available < wanted ? wanted - available : 0;
}

static bool is_low(struct catalog *catalog, unsigned percent)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct catalog_pool pool;

	catalog_pool(catalog, &arena, &pool);
	return lacking(pool.available, pool.capacity, percent) > 0;
}

/* *ret is how many more bytes must become free, besides those that ZFS is freeing already. */
static int read_lacking(struct arena *arena, const char *parent, unsigned percent, int64_t *ret,
			struct error *err)
{
	struct listing listing = {0};
	int64_t freeing;

	if (zfs_freeing(parent, &freeing, err) < 0 ||
	    zfs_read(arena, parent, NULL, 0, &listing, err) < 0)
		return -1;
	free(listing.text);
	*ret = lacking(listing.available + freeing, listing.capacity, percent);
	return 0;
}

/* Returns true if the catalog has a snapshot of the volume that no schedule made. */
static bool has_snapshots(struct catalog *catalog, struct arena *arena,
			  const struct dataset *dataset)
{
	struct snapshot_list list;
	struct scheduled ignored;

	catalog_snapshots_of(catalog, arena, dataset, &list);
	for (size_t i = 0; i < list.n; i++)
		if (!scheduled_parse(snapshot_leaf(list.rows[i]), &ignored))
			return true;
	return false;
}

/* Returns true if the volume may be destroyed early, as far as its record shows. */
static bool may_go(struct catalog *catalog, struct arena *arena, const struct dataset *dataset)
{
	return dataset->deleted > 0 && dataset->deleted <= time(NULL) && !dataset->keep &&
	       !*dataset->members && !has_snapshots(catalog, arena, dataset);
}

static int by_deletion(const void *a, const void *b)
{
	const struct dataset *one = *(struct dataset *const *)a;
	const struct dataset *other = *(struct dataset *const *)b;

	return one->deleted != other->deleted ? (one->deleted > other->deleted) * 2 - 1
					      : strcmp(one->name, other->name);
}

/* *ret is the volumes that may be destroyed early, the oldest deletion first. */
static void list_oldest_first(struct catalog *catalog, struct arena *arena,
			      struct dataset_list *ret)
{
	struct dataset_list trashed;

	catalog_trashed(catalog, arena, &trashed);
	*ret = (struct dataset_list){.rows = trashed.rows};
	for (size_t i = 0; i < trashed.n; i++)
		if (may_go(catalog, arena, trashed.rows[i]))
			ret->rows[ret->n++] = trashed.rows[i];
	qsort(ret->rows, ret->n, sizeof(*ret->rows), by_deletion);
}

/* Destroy one volume. Returns how many bytes that frees; 0 if it stays. */
static int64_t empty(struct catalog *catalog, struct arena *arena, const struct dataset *dataset,
		     int64_t missing)
{
	const char *key = origin_key(arena, dataset->name);
	struct error err;
	int64_t freed;

	if (catalog_lock_key(catalog, now_ms() + CATALOG_WAIT_MS, key, &err) < 0)
		return 0;
	int failed = reaper_destroy(catalog, arena, dataset, &freed, &err);
	catalog_unlock_key(catalog, key);
	if (failed) {
		log_debug("cannot destroy a deleted volume to free space",
			  log_str("dataset", dataset->name), log_str("error", err.text));
		return 0;
	}
	log_warn("deleted volume was destroyed before its time, because the pool is full",
		 log_str("volume", dataset->id), log_str("dataset", dataset->name),
		 log_int("deleted", dataset->deleted), log_int("freed_bytes", freed),
		 log_int("lacking_bytes", missing));
	totals[VOLUMES]++;
	totals[BYTES] += freed;
	return freed;
}

void low_space_run(struct catalog *catalog, const struct node *node)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const int64_t last = reaper_last();
	struct dataset_list list;
	struct error err;
	int64_t missing;

	if (!node->trash_free || !is_low(catalog, node->trash_free) ||
	    (last && now_ms() - last < SETTLE_MS))
		return;
	list_oldest_first(catalog, &arena, &list);
	if (!list.n)
		return;
	if (read_lacking(&arena, catalog_parent(catalog), node->trash_free, &missing, &err) < 0) {
		log_warn("cannot empty the trash: the free space of the pool is unknown",
			 log_str("error", err.text));
		return;
	}
	for (size_t i = 0; i < list.n && missing > 0 && !catalog_is_stopping(catalog); i++)
		missing -= empty(catalog, &arena, list.rows[i], missing);
}

void low_space_metrics_write(FILE *out)
{
	for (size_t i = 0; i < COUNT(metrics); i++) {
		metric_head(&metrics[i], out);
		metric_sample(&metrics[i], out, (double)totals[i]);
	}
}
