/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The reaper: it destroys trashed volumes, and origins of clones, that nothing depends on any more.
 *
 * Invariant: a trashed volume is destroyed only after ZFS has just shown that its dataset still is
 * that volume, without snapshots, children and copies on other nodes, not mounted, and with its
 * origin key locked. Errors are logged, and the next reading of the pool tries again. A volume is
 * never kept for less than its time: if its deletion is in the future, either the clock was ahead
 * then or it is behind now, so the time counts from when this zcsi-node first saw the volume, by
 * the monotonic clock.
 */
#include "node/agent/reaper.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "node/agent/origin.h"
#include "node/agent/trash.h"
#include "node/attach/unused.h"
#include "node/copy/history.h"
#include "node/catalog/change.h"
#include "node/record/scheduled.h"
#include "node/schedule/keeper.h"

static void reap_origin(struct catalog *catalog, struct arena *arena, const char *snapshot)
{
	const char *key = origin_key(arena, snapshot);
	struct error err;

	/*
	 * A call that clones this dataset has the key locked. Once the clone exists, destroying its
	 * origin is only deferred.
	 */
	if (catalog_lock_key(catalog, now_ms() + CATALOG_WAIT_MS, key, &err) < 0)
		return;
	int failed = zfs_destroy_origin(snapshot, &err);
	catalog_unlock_key(catalog, key);
	if (!failed)
		log_info("unused origin of a clone is destroyed", log_str("snapshot", snapshot));
	else if (err.code != ERR_NOT_FOUND)
		log_warn("cannot destroy the unused origin of a clone",
			 log_str("snapshot", snapshot), log_str("error", err.text));
}

/* A volume whose deletion is in the future, and when that was first seen, by now_ms. */
struct sighting {
	uint64_t guid;
	int64_t ms;
};

static struct {
	struct sighting *rows;
	size_t n;
} sightings; /* the list of sightings, used by the catalog's thread only */

/* A zcsi:deleted that is too large for int64_t was parsed as a negative number. */
static bool is_in_future(const struct dataset *dataset)
{
	return dataset->deleted < 0 || dataset->deleted > time(NULL);
}

/* Returns NULL if the volume was not seen with a deletion in the future. */
static const struct sighting *find_sighting(const struct dataset *dataset)
{
	for (size_t i = 0; i < sightings.n; i++)
		if (sightings.rows[i].guid == dataset->guid)
			return &sightings.rows[i];
	return NULL;
}

/* Note the volumes whose deletion is in the future, and forget all others. */
static void note_sightings(const struct dataset_list *trashed)
{
	struct sighting *rows = mem_alloc((trashed->n + 1) * sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; i < trashed->n; i++) {
		const struct dataset *row = trashed->rows[i];
		if (!is_in_future(row))
			continue;
		const struct sighting *old = find_sighting(row);
		rows[n++] = (struct sighting){row->guid, old ? old->ms : now_ms()};
		if (!old)
			log_warn("deletion time of a volume is in the future, counting from now",
				 log_str("dataset", row->name), log_int("deleted", row->deleted));
	}
	free(sightings.rows);
	sightings.rows = rows;
	sightings.n = n;
}

/* Returns true if the volume is to stay in the trash even without snapshots. ttl: seconds. */
static bool is_kept(const struct dataset *dataset, int64_t ttl)
{
	int64_t seconds = dataset->keep > ttl ? dataset->keep : ttl;

	if (!dataset->deleted)
		return false;
	if (!is_in_future(dataset))
		return time(NULL) - dataset->deleted < seconds;
	const struct sighting *sighting = find_sighting(dataset);
	return !sighting || (now_ms() - sighting->ms) / 1000 < seconds;
}

static _Atomic int64_t last; /* when a trashed volume was last destroyed, by now_ms; 0: never */

int64_t reaper_last(void)
{
	return last;
}

/* Destroy a trashed volume whose identity ZFS has just confirmed. */
static int destroy(struct catalog *catalog, struct arena *arena, const struct dataset *dataset,
		   struct error *err)
{
	if (unused_check_mounts(arena, dataset->name, err) < 0 ||
	    zfs_destroy(dataset->name, err) < 0)
		return -1;
	log_info("deleted volume is destroyed", log_str("volume", dataset->id),
		 log_str("dataset", dataset->name));
	last = now_ms();
	catalog_drop(catalog, dataset->name);
	return 0;
}

static void reap_locked(struct catalog *catalog, struct arena *arena, const struct dataset *known,
			int64_t ttl)
{
	size_t children;
	struct error err;

	struct dataset *dataset =
		agent_prove(arena, catalog_parent(catalog), known, &children, &err);
	if (dataset &&
	    (dataset->snapshots || children || *dataset->members || is_kept(dataset, ttl)))
		return;
	if ((!dataset || destroy(catalog, arena, dataset, &err) < 0) && err.code != ERR_NOT_FOUND)
		log_warn("cannot destroy a deleted volume", log_str("dataset", known->name),
			 log_str("error", err.text));
}

/* *ret is the snapshots of a dataset that were taken for backups. Returns how many there are. */
static size_t list_backups(struct arena *arena, const char *dataset, const char ***ret)
{
	struct history history;
	struct error ignored;
	size_t n = 0;

	if (history_read(arena, dataset, &history, &ignored) < 0)
		return 0;
	*ret = arena_alloc(arena, (history.n + 1) * sizeof(**ret));
	for (size_t i = 0; i < history.n; i++) {
		const struct point *at = &history.points[i];
		if (!at->bookmark && !strncmp(at->leaf, SNAPSHOT_BACKUP, strlen(SNAPSHOT_BACKUP)))
			(*ret)[n++] = at->name;
	}
	return n;
}

/* Destroy the snapshots that were taken for backups: a deleted volume gets no further run. */
static void end_backups(struct arena *arena, const char *dataset)
{
	const char **names;
	struct error err;

	size_t n = list_backups(arena, dataset, &names);
	for (size_t i = 0; i < n; i++)
		if (zfs_destroy(names[i], &err) < 0)
			log_debug("cannot destroy the snapshot of a backup",
				  log_str("snapshot", names[i]), log_str("error", err.text));
}

/* Returns how many snapshots of the dataset the catalog shows. The dataset may have others. */
static size_t count_shown(struct catalog *catalog, struct arena *arena, const struct dataset *known)
{
	struct snapshot_list list;

	catalog_snapshots_of(catalog, arena, known, &list);
	return list.n;
}

/* Returns true if the dataset has snapshots that the catalog does not show. */
static bool has_hidden(struct catalog *catalog, struct arena *arena, const struct dataset *known)
{
	return known->snapshots != DATASET_UNCOUNTED &&
	       known->snapshots > count_shown(catalog, arena, known);
}

/*
 * Destroy the scheduled snapshots of a volume whose time in the trash is over, and those that were
 * taken for backups.
 */
static void end_schedule(struct catalog *catalog, struct arena *arena, const struct dataset *known)
{
	const char *key = origin_key(arena, known->name);
	struct error err;

	if (catalog_lock_key(catalog, now_ms() + CATALOG_WAIT_MS, key, &err) < 0)
		return;
	keeper_end(catalog, known);
	if (has_hidden(catalog, arena, known))
		end_backups(arena, known->name);
	catalog_unlock_key(catalog, key);
}

static void reap_dataset(struct catalog *catalog, struct arena *arena, const struct dataset *known,
			 int64_t ttl)
{
	const char *key = origin_key(arena, known->name);
	struct error err;

	if (catalog_lock_key(catalog, now_ms() + CATALOG_WAIT_MS, key, &err) < 0)
		return;
	reap_locked(catalog, arena, known, ttl);
	catalog_unlock_key(catalog, key);
}

/* Returns how many snapshots the catalog has that the schedule of a volume made. */
static size_t count_scheduled(struct catalog *catalog, struct arena *arena,
			      const struct dataset *dataset)
{
	struct snapshot_list list;
	struct scheduled ignored;
	size_t n = 0;

	catalog_snapshots_of(catalog, arena, dataset, &list);
	for (size_t i = 0; i < list.n; i++)
		n += scheduled_parse(snapshot_leaf(list.rows[i]), &ignored);
	return n;
}

/* Read the volume, and check that nothing depends on it except at most `snapshots` snapshots. */
static struct dataset *prove_unneeded(struct catalog *catalog, struct arena *arena,
				      const struct dataset *known, size_t snapshots,
				      struct error *err)
{
	size_t children;
	struct dataset *dataset =
		agent_prove(arena, catalog_parent(catalog), known, &children, err);

	if (!dataset || unused_check(arena, dataset, err) < 0)
		return NULL;
	if (dataset->snapshots > snapshots)
		fail(err, ERR_FAILED_PRECONDITION,
		     "it has %zu snapshots, and those outlive a deleted volume: delete them first; "
		     "'zcsi snapshots %s' prints those that can be restored, and 'zcsi detach' "
		     "frees those of which a volume was made",
		     dataset->snapshots, dataset->id);
	else if (*dataset->members)
		fail(err, ERR_FAILED_PRECONDITION,
		     "its copies on other nodes are dropped first, as soon as those answer");
	else if (children)
		fail(err, ERR_FAILED_PRECONDITION,
		     "%zu datasets are below it; list them with 'zfs list -r %s', and destroy or "
		     "rename them first",
		     children, dataset->name);
	else
		return dataset;
	return NULL;
}

int reaper_destroy(struct catalog *catalog, struct arena *arena, const struct dataset *known,
		   int64_t *ret_freed, struct error *err)
{
	const size_t scheduled = count_scheduled(catalog, arena, known);
	const char **ignored;
	struct dataset *dataset = prove_unneeded(catalog, arena, known, scheduled, err);

	/* The catalog does not show snapshots of backups, so `scheduled` does not count them. */
	if (!dataset && err->code == ERR_FAILED_PRECONDITION) {
		const size_t backups = list_backups(arena, known->name, &ignored);
		if (backups)
			dataset = prove_unneeded(catalog, arena, known, scheduled + backups, err);
	}
	if (!dataset)
		return -1;
	*ret_freed = dataset->used;
	if (dataset->snapshots) {
		keeper_end(catalog, known);
		end_backups(arena, known->name);
		dataset = prove_unneeded(catalog, arena, known, 0, err);
	}
	return dataset ? destroy(catalog, arena, dataset, err) : -1;
}

void reaper_run(struct catalog *catalog, void *arg)
{
	const struct node *node = arg;
	struct dataset_list trashed;
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	char **origins;

	size_t n = catalog_take_origins(catalog, &arena, &origins);
	for (size_t i = 0; i < n && !catalog_is_stopping(catalog); i++)
		reap_origin(catalog, &arena, origins[i]);
	catalog_trashed(catalog, &arena, &trashed);
	note_sightings(&trashed);
	for (size_t i = 0; i < trashed.n && !catalog_is_stopping(catalog); i++) {
		const struct dataset *row = trashed.rows[i];
		if (row->reserved)
			trash_release_reservation(row->name);
		if (is_kept(row, node->trash_ttl))
			continue;
		if (row->snapshots)
			end_schedule(catalog, &arena, row);
		/*
		 * The dataset may have snapshots that the catalog does not show, so reap_dataset
		 * reads it from ZFS.
		 */
		if (!*row->members && !count_shown(catalog, &arena, row))
			reap_dataset(catalog, &arena, row, node->trash_ttl);
	}
}
