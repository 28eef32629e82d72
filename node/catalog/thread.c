/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The catalog's thread, which decides when to read the whole pool or the stale names, and reads the
 * whole pool.
 *
 * Invariant: the mutex is not held while a program runs or its output is sorted into an inventory:
 * reading a pool of 100,000 snapshots takes a minute.
 */
#include "node/catalog/thread.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/device.h"
#include "node/catalog/early.h"
#include "node/catalog/reread.h"
#include "node/catalog/state.h"
#include "node/zfs/lock_file.h"
#include "node/zfs/hung.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"

#define RETRY_MS       1000 /* first pause after a failed reading; doubles up to the rescan time */
#define PAUSE_READINGS 10   /* pause after a reading, as a multiple of the reading's time */
#define FOLLOW_RESCANS 10   /* the rescan time is multiplied by this while `zpool events` runs */
#define LOCK_MS        50   /* interval of checking whether another process has ended */

static int64_t earlier(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

/*
 * Read the whole pool, without the mutex. The pool's guid is read first, because that fails if the
 * pool is missing, so a later ERR_NOT_FOUND means that the parent is missing.
 */
static int read_pool(struct arena *arena, struct catalog *catalog, size_t mark,
		     struct zfs_pool *ret_pool, struct listing *ret, struct error *err)
{
	const char *parent = catalog->parent;

	if (zfs_read_pool(parent, ret_pool, err) < 0)
		return -1;
	if (early_read(catalog, mark, ret_pool->guid, err) == 0 &&
	    zfs_list(arena, parent, ret, err) == 0)
		return 0;
	return err->code == ERR_NOT_FOUND ? zfs_no_parent(parent, err) : -1;
}

/* Set the time of the next reading, after a reading that took `took` milliseconds. */
static void plan(struct catalog *catalog, bool failed, int64_t took)
{
	int64_t now = now_ms(), next = now + catalog->rescan_ms;

	catalog->rested = now + PAUSE_READINGS * took;
	/* Names that were marked stale during the reading have their time set already. */
	if (!catalog->n_stale)
		catalog->stale_due = next;
	if (failed) {
		next = earlier(next, now + catalog->retry_ms);
		catalog->retry_ms = (next - now) * 2;
	} else {
		catalog->retry_ms = RETRY_MS;
		next = now + catalog->rescan_ms * (catalog->follows ? FOLLOW_RESCANS : 1);
		if (next < catalog->rested)
			next = catalog->rested;
	}
	/* A rescan may have been requested during the reading. */
	catalog->due = earlier(catalog->due, next);
}

static void begin(struct catalog *catalog)
{
	catalog->readings_begun++;
	catalog->due = INT64_MAX;
	catalog->lost = false;
	change_forget(catalog);
}

static void take_pool(struct catalog *catalog, const struct zfs_pool *pool,
		      const struct device *device)
{
	catalog->pool_guid = pool->guid;
	memcpy(catalog->health, pool->health, sizeof(catalog->health));
	catalog->device = *device;
	catalog->read = time(NULL);
	catalog->reap_due = true;
}

static void end(struct catalog *catalog, bool failed, const char *problem, int64_t took)
{
	if (!catalog->hung)
		catalog_set_state(catalog, failed ? CATALOG_PROBLEM : CATALOG_READY, problem);
	change_unmark(catalog);
	catalog->readings_done++;
	plan(catalog, failed, took);
	pthread_cond_broadcast(&catalog->changed);
}

/* Read the whole pool into the catalog, without the mutex. mark: when the reading has begun. */
static void read_since(struct catalog *catalog, size_t mark)
{
	struct zfs_pool pool;
	struct device device = {.name = ""};
	struct inventory fresh;
	struct listing listing = {0};
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct error err;
	int64_t begun = now_ms();

	inventory_init(&fresh);
	int failed = read_pool(&arena, catalog, mark, &pool, &listing, &err);
	if (!failed) {
		inventory_fill(&fresh, catalog->parent, &listing);
		if (strcmp(pool.health, "ONLINE") != 0)
			device_read(catalog->parent, &device);
	}
	{
		scoped_lock(&catalog->mutex);
		if (!failed) {
			take_pool(catalog, &pool, &device);
			catalog_take_over(catalog, mark, &listing, &fresh);
		}
		end(catalog, failed, failed ? err.text : "", now_ms() - begun);
	}
	inventory_fini(&fresh);
	free(listing.text);
}

/* Read the whole pool. Call it with the mutex, which it releases while zfs runs. */
static void read_all(struct catalog *catalog)
{
	begin(catalog);
	size_t mark = change_mark(catalog);
	pthread_mutex_unlock(&catalog->mutex);
	read_since(catalog, mark);
	pthread_mutex_lock(&catalog->mutex);
}

/* Read the stale names. Without any, only the parent is read, for its available space. */
static void read_stale(struct catalog *catalog)
{
	struct target *targets = catalog->stale;
	size_t n = catalog->n_stale;
	const bool reap = !n || catalog->full;
	struct error err;

	catalog->full = false; /* a call that needs room during the reading waits for the next */
	catalog->stale = NULL;
	catalog->n_stale = 0;
	catalog->stale_due = now_ms() + catalog->rescan_ms;
	log_debug("stale names are reread", log_int("names", (long long)n));
	if (read_names(catalog, targets, n, &err) < 0)
		catalog->due = 0;
	catalog->reap_due |= reap;
	for (size_t i = 0; i < n; i++) {
		catalog->reap_due |= dataset_is_trash(catalog->parent, targets[i].zfs_name);
		free(targets[i].zfs_name);
	}
	free(targets);
}

static void reap(struct catalog *catalog)
{
	catalog->reap_due = false;
	catalog->reaps_begun++;
	pthread_mutex_unlock(&catalog->mutex);
	if (catalog->reap)
		catalog->reap(catalog, catalog->reap_arg);
	pthread_mutex_lock(&catalog->mutex);
	catalog->reaps_done++;
	pthread_cond_broadcast(&catalog->changed);
}

/*
 * Wait until no zfs of an earlier zcsi-node runs. If that one was killed, its `zfs create` may end
 * after this process has read the pool, and create a volume that was reported as missing. So all
 * calls are UNAVAILABLE until it has ended, however long it takes. If it is hung in the kernel, the
 * pool cannot be read anyway.
 */
static void await_lock(struct catalog *catalog)
{
	auto_free char *problem = NULL;

	if (asprintf(&problem,
		     "'%s' is still in use by a zfs of an earlier zcsi-node, or by another "
		     "zcsi-node; 'fuser -v %s' names it",
		     catalog->parent, lock_file_path()) < 0)
		abort();
	while (!catalog->stopping && !lock_file_take()) {
		catalog_set_state(catalog, CATALOG_LOADING, problem);
		catalog_wait(catalog, now_ms() + LOCK_MS);
	}
}

void catalog_suspend(void *arg, const char *problem)
{
	struct catalog *catalog = arg;
	scoped_lock(&catalog->mutex);

	catalog->hung = true;
	catalog_set_state(catalog, CATALOG_PROBLEM, problem);
	pthread_cond_broadcast(&catalog->changed);
}

/*
 * Wait until no zfs is hung. Then have the whole pool read again, because a hung zfs may have
 * changed it before its end.
 */
static void await_hung(struct catalog *catalog)
{
	char *text;

	while (!catalog->stopping && (text = hung_text())) {
		catalog_set_state(catalog, CATALOG_PROBLEM, text);
		free(text);
		catalog_wait(catalog, now_ms() + LOCK_MS);
	}
	catalog->hung = false;
	catalog->due = 0;
}

void *catalog_run(void *arg)
{
	struct catalog *catalog = arg;
	scoped_lock(&catalog->mutex);

	await_lock(catalog);
	while (!catalog->stopping) {
		bool ready = catalog->state == CATALOG_READY;
		int64_t now = now_ms();
		int64_t all = catalog->lost ? earlier(catalog->due, catalog->rested) : catalog->due;
		int64_t some = ready ? catalog->stale_due : INT64_MAX;
		if (catalog->hung)
			await_hung(catalog);
		else if (all <= now)
			read_all(catalog);
		else if (some <= now)
			read_stale(catalog);
		else if (ready && catalog->reap_due)
			reap(catalog);
		else
			catalog_wait(catalog, earlier(all, some));
	}
	return NULL;
}
