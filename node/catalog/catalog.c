/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The catalog: the inventory under one mutex, and the functions that read it. thread.c and reread.c
 * read the pool, change.c makes changes.
 *
 * Invariant: nothing is reported as missing before the whole pool was read, or while it cannot be
 * read. The exception is a volume during the first reading, once its own name, or all volumes, were
 * read.
 */
#include "node/catalog/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/thread.h"
#include "node/catalog/early.h"
#include "node/catalog/thread.h"
#include "node/zfs/lock_file.h"
#include "node/zfs/hung.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

struct catalog *catalog_new(const char *parent, unsigned rescan_seconds)
{
	struct catalog *catalog = mem_alloc(sizeof(*catalog));
	pthread_condattr_t monotonic;

	catalog->parent = mem_strdup(parent);
	catalog->rescan_ms = (int64_t)rescan_seconds * 1000;
	catalog->retry_ms = 1000;
	if (asprintf(&catalog->problem, CATALOG_LOADING_TEXT, parent) < 0)
		abort();
	inventory_init(&catalog->inventory);
	catalog->names = (uint64_t)wall_us();
	pthread_mutex_init(&catalog->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&catalog->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return catalog;
}

const char *catalog_parent(const struct catalog *catalog)
{
	return catalog->parent;
}

void catalog_on_read(struct catalog *catalog, void (*reap)(struct catalog *catalog, void *arg),
		     void *arg)
{
	catalog->reap = reap;
	catalog->reap_arg = arg;
}

bool catalog_wait(struct catalog *catalog, int64_t deadline)
{
	struct timespec until = {.tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000};

	return pthread_cond_timedwait(&catalog->changed, &catalog->mutex, &until) != ETIMEDOUT;
}

int catalog_start(struct catalog *catalog, struct error *err)
{
	if (lock_file_open(catalog->parent, err) < 0)
		return -1;
	hung_watch(catalog_suspend, catalog);
	if (thread_start(&catalog->thread, NULL, catalog_run, catalog) < 0)
		return fail_errno(err, "cannot start the catalog's thread");
	catalog->started = true;
	return 0;
}

void catalog_stop(struct catalog *catalog)
{
	scoped_lock(&catalog->mutex);

	catalog->stopping = true;
	zfs_run_stop_reading();
	pthread_cond_broadcast(&catalog->changed);
}

void catalog_free(struct catalog *catalog)
{
	if (!catalog)
		return;
	catalog_stop(catalog);
	if (catalog->started)
		pthread_join(catalog->thread, NULL);
	lock_file_close();
	inventory_fini(&catalog->inventory);
	change_fini(catalog);
	for (size_t i = 0; i < catalog->n_origins; i++)
		free(catalog->origins[i]);
	free(catalog->origins);
	pthread_cond_destroy(&catalog->changed);
	pthread_mutex_destroy(&catalog->mutex);
	free(catalog->problem);
	free(catalog->parent);
	free(catalog);
}

void catalog_rescan(struct catalog *catalog)
{
	scoped_lock(&catalog->mutex);

	catalog->due = 0;
	pthread_cond_broadcast(&catalog->changed);
}

static int64_t bounded(int64_t deadline)
{
	int64_t limit = now_ms() + CATALOG_WAIT_MS;

	return deadline < limit ? deadline : limit;
}

/* Wait until the first reading has reached this state, READY or an earlier one. */
static int await(struct catalog *catalog, int64_t deadline, enum catalog_state state,
		 struct error *err)
{
	deadline = bounded(deadline);
	while (catalog->state < state && !catalog->stopping)
		if (!catalog_wait(catalog, deadline))
			break;
	if (catalog->state >= state && catalog->state != CATALOG_PROBLEM)
		return 0;
	return fail(err, ERR_UNAVAILABLE, "%s", catalog->problem);
}

int catalog_ready(struct catalog *catalog, int64_t deadline, struct error *err)
{
	return await(catalog, deadline, CATALOG_READY, err);
}

int catalog_refresh(struct catalog *catalog, int64_t deadline, struct error *err)
{
	scoped_lock(&catalog->mutex);
	uint64_t wanted = catalog->readings_begun + 1;

	deadline = bounded(deadline);
	catalog->due = 0;
	pthread_cond_broadcast(&catalog->changed);
	while (catalog->readings_done < wanted && !catalog->stopping && !catalog->hung)
		if (!catalog_wait(catalog, deadline))
			return fail(err, ERR_UNAVAILABLE, "'%s' cannot be read in time; try again",
				    catalog->parent);
	if (catalog->stopping)
		return fail(err, ERR_UNAVAILABLE, "zcsi-node is stopping; try again");
	return catalog_ready(catalog, deadline, err);
}

int catalog_get(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *id,
		struct dataset **ret, struct error *err)
{
	const char *name = dataset_name(arena, catalog->parent, id);
	scoped_lock(&catalog->mutex);

	if (!early_volume(catalog, deadline, id, name) &&
	    await(catalog, deadline, CATALOG_VOLUMES, err) < 0)
		return -1;
	const struct dataset *found = index_get(&catalog->inventory.datasets, id);
	if (!found && inventory_is_damaged(&catalog->inventory, name))
		return zfs_fail_damaged(name, err);
	if (!found)
		return fail(err, ERR_NOT_FOUND, "volume '%s' does not exist under '%s'", id,
			    catalog->parent);
	*ret = dataset_copy(arena, found);
	return 0;
}

int catalog_snapshot(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *id,
		     struct snapshot **ret, struct error *err)
{
	scoped_lock(&catalog->mutex);

	const struct snapshot *found = early_snapshot(catalog, deadline, arena, id);
	if (!found && catalog_ready(catalog, deadline, err) < 0)
		return -1;
	found = index_get(&catalog->inventory.snapshots, id);
	if (!found)
		return fail(err, ERR_NOT_FOUND, "snapshot '%s' does not exist under '%s'", id,
			    catalog->parent);
	*ret = inventory_show(&catalog->inventory, arena, found);
	return 0;
}

int catalog_snapshot_named(struct catalog *catalog, int64_t deadline, struct arena *arena,
			   const char *name, struct snapshot **ret, struct error *err)
{
	scoped_lock(&catalog->mutex);

	if (catalog_ready(catalog, deadline, err) < 0)
		return -1;
	const struct snapshot *found = inventory_named(&catalog->inventory, name);
	if (!found)
		return fail(err, ERR_NOT_FOUND, "no snapshot under '%s' has the name '%s'",
			    catalog->parent, name);
	*ret = inventory_show(&catalog->inventory, arena, found);
	return 0;
}

int catalog_group(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *group,
		  struct snapshot_list *ret, struct error *err)
{
	scoped_lock(&catalog->mutex);

	if (catalog_ready(catalog, deadline, err) < 0)
		return -1;
	inventory_group(&catalog->inventory, arena, group, ret);
	if (!ret->n)
		return fail(err, ERR_NOT_FOUND, "no snapshot under '%s' is of group '%s'",
			    catalog->parent, group);
	return 0;
}

int catalog_page(struct catalog *catalog, int64_t deadline, struct arena *arena, const char *after,
		 size_t max, struct dataset_list *ret, bool *ret_more, struct error *err)
{
	scoped_lock(&catalog->mutex);
	const struct index *index = &catalog->inventory.datasets;

	if (await(catalog, deadline, CATALOG_VOLUMES, err) < 0)
		return -1;
	size_t at = index_after(index, after);
	size_t left = index->n - at;
	*ret = (struct dataset_list){.n = left < max ? left : max};
	ret->rows = arena_alloc(arena, (ret->n + 1) * sizeof(*ret->rows));
	for (size_t i = 0; i < ret->n; i++)
		ret->rows[i] = dataset_copy(arena, index->rows[at + i]);
	*ret_more = left > max;
	return 0;
}

int catalog_snapshots(struct catalog *catalog, int64_t deadline, struct arena *arena,
		      const struct snapshot_query *query, struct snapshot_list *ret, bool *ret_more,
		      struct error *err)
{
	scoped_lock(&catalog->mutex);

	if (catalog_ready(catalog, deadline, err) < 0)
		return -1;
	inventory_page(&catalog->inventory, arena, query, ret, ret_more);
	return 0;
}

void catalog_pool(struct catalog *catalog, struct arena *arena, struct catalog_pool *ret)
{
	scoped_lock(&catalog->mutex);

	*ret = (struct catalog_pool){.guid = catalog->pool_guid,
				     .available = catalog->available,
				     .reserved = catalog->reserved,
				     .capacity = catalog->capacity,
				     .names = catalog->state == CATALOG_READY ? catalog->names : 0,
				     .complete = !catalog->inventory.damaged.n,
				     .loading = catalog->state < CATALOG_READY,
				     .reading = catalog->state == CATALOG_READING ||
						catalog->state == CATALOG_VOLUMES,
				     .health = arena_strdup(arena, catalog->health),
				     .device = arena_strdup(arena, catalog->device.name),
				     .device_state = arena_strdup(arena, catalog->device.state),
				     .problem = arena_strdup(arena, catalog->problem)};
}
