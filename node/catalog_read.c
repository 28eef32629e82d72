/* SPDX-License-Identifier: MPL-2.0 */
/*
 * How the catalog reads: the thread that reads the pool and what changed, and a look at one name.
 *
 * Invariant: the mutex is never held while a program runs, and what is read is put in order
 * before it is taken again: a pool of 100,000 snapshots takes a minute to read and a moment to
 * take over.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog_inside.h"
#include "node/zfs.h"

#define RETRY_MS       1000 /* while there is a problem; doubles up to the rescan time */
#define PAUSE_READINGS 10   /* as long as the last reading took, so often it rests */
#define BATCH_MAX      64   /* names in one program */

/* The pool can be read; or cannot, and why. Logged when it becomes so, not each time it is seen. */
static void set_state(struct catalog *catalog, enum catalog_state state, const char *problem)
{
	if (catalog->state == state && !strcmp(catalog->problem, problem))
		return;
	catalog->state = state;
	free(catalog->problem);
	catalog->problem = mem_strdup(problem);
	if (state == CATALOG_READY)
		log_info("the pool can be used", log_str("dataset", catalog->parent),
			 log_int("volumes", (long long)catalog->holdings.datasets.n),
			 log_int("snapshots", (long long)catalog->holdings.snapshots.n));
	else
		log_warn("the pool cannot be used", log_str("dataset", catalog->parent),
			 log_str("problem", problem));
}

/* Without the mutex. The guid is asked for first: it tells a missing pool from a missing parent. */
static int read_pool(struct arena *arena, const char *parent, bool with_guid, uint64_t *ret_guid,
		     struct reading *ret, struct error *err)
{
	if (with_guid && zfs_pool_guid(parent, ret_guid, err)) {
		if (err->code == ERR_UNAVAILABLE)
			return fail(err, ERR_UNAVAILABLE,
				    "there is no pool '%.*s' on this host; import it with 'zpool "
				    "import', or make one with 'zpool create'",
				    (int)strcspn(parent, "/"), parent);
		return -1;
	}
	if (!zfs_list(arena, parent, ret, err))
		return 0;
	if (err->code == ERR_NOT_FOUND)
		return fail(err, ERR_UNAVAILABLE,
			    "there is no dataset '%s' on this host; make it with 'zfs create -p "
			    "-o mountpoint=none %s'",
			    parent, parent);
	return -1;
}

static void keep_origins(struct catalog *catalog, const struct reading *reading)
{
	for (size_t i = 0; i < catalog->n_origins; i++)
		free(catalog->origins[i]);
	catalog->n_origins = reading->n_origins;
	catalog->origins =
		mem_resize(catalog->origins, (reading->n_origins + 1) * sizeof(*catalog->origins));
	for (size_t i = 0; i < reading->n_origins; i++)
		catalog->origins[i] = mem_strdup(reading->origins[i]);
}

/* Take over what was read; *fresh is what was held before. */
static void take_over(struct catalog *catalog, size_t mark, const struct reading *reading,
		      struct holdings *fresh)
{
	struct holdings old = catalog->holdings;

	change_replay(catalog, mark, fresh);
	catalog->holdings = *fresh;
	*fresh = old;
	catalog->available = reading->available;
	keep_origins(catalog, reading);
}

/* When to read next, after a reading that took this long, or failed. */
static int64_t pause_after(struct catalog *catalog, bool failed, int64_t took)
{
	int64_t pause = catalog->rescan_ms;

	if (failed) {
		pause = catalog->retry_ms < pause ? catalog->retry_ms : pause;
		catalog->retry_ms = pause * 2;
		return pause;
	}
	catalog->retry_ms = RETRY_MS;
	return pause > PAUSE_READINGS * took ? pause : PAUSE_READINGS * took;
}

/* With the mutex, which it gives up while zfs runs. */
static void read_all(struct catalog *catalog)
{
	uint64_t guid = catalog->pool_guid;
	bool with_guid = catalog->state != CATALOG_READY;
	struct holdings fresh;
	struct reading reading = {0};
	struct arena arena;
	struct error err;

	arena_init(&arena, SIZE_MAX);
	holdings_init(&fresh);
	catalog->readings_begun++;
	catalog->due = INT64_MAX;
	size_t mark = change_mark(catalog);
	pthread_mutex_unlock(&catalog->mutex);
	int64_t begun = now_ms();
	bool failed = read_pool(&arena, catalog->parent, with_guid, &guid, &reading, &err);
	if (!failed)
		holdings_fill(&fresh, catalog->parent, &reading);
	pthread_mutex_lock(&catalog->mutex);
	if (failed) {
		set_state(catalog, CATALOG_PROBLEM, err.text);
	} else {
		catalog->pool_guid = guid;
		take_over(catalog, mark, &reading, &fresh);
		set_state(catalog, CATALOG_READY, "");
		catalog->reap_due = true;
	}
	change_unmark(catalog);
	catalog->readings_done++;
	int64_t next = now_ms() + pause_after(catalog, failed, now_ms() - begun);
	if (catalog->due > next)
		catalog->due = next;
	pthread_cond_broadcast(&catalog->changed);
	pthread_mutex_unlock(&catalog->mutex);
	holdings_fini(&fresh);
	free(reading.text);
	arena_fini(&arena);
	pthread_mutex_lock(&catalog->mutex);
}

static struct dataset *dataset_in(struct dataset *const *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i]->name, name))
			return rows[i];
	return NULL;
}

/* The word of a reading on one name. */
static void take_word(struct catalog *catalog, const struct target *target,
		      const struct reading *reading)
{
	struct change change = {0};
	const struct dataset *dataset =
		dataset_in(reading->datasets, reading->n_datasets, target->zfs_name);

	if (!dataset)
		dataset = dataset_in(reading->trashed, reading->n_trashed, target->zfs_name);
	if (dataset) {
		change.dataset = dataset_dup(dataset);
		/* How many snapshots it has was not asked. */
		const struct dataset *known = index_get(&catalog->holdings.trashed, dataset->name);
		change.dataset->snapshots = known ? known->snapshots : 0;
	}
	for (size_t i = 0; !dataset && i < reading->n_snapshots; i++)
		if (!strcmp(reading->snapshots[i]->zfs_name, target->zfs_name))
			change.snapshot = snapshot_dup(reading->snapshots[i]);
	if (!change.dataset && !change.snapshot) {
		change.id = mem_strdup(target->id);
		change.zfs_name = mem_strdup(target->zfs_name);
	}
	change_make(catalog, change);
}

/* With the mutex, which it gives up while zfs runs. */
static int read_some(struct catalog *catalog, const struct target *targets, size_t n,
		     struct error *err)
{
	const char *names[BATCH_MAX];
	struct reading reading = {0};
	struct arena arena;

	for (size_t i = 0; i < n; i++)
		names[i] = targets[i].zfs_name;
	arena_init(&arena, SIZE_MAX);
	size_t mark = change_mark(catalog);
	pthread_mutex_unlock(&catalog->mutex);
	int failed = zfs_read(&arena, catalog->parent, names, n, &reading, err);
	pthread_mutex_lock(&catalog->mutex);
	for (size_t i = 0; !failed && i < n; i++)
		if (!change_since(catalog, mark, names[i]))
			take_word(catalog, &targets[i], &reading);
	if (!failed)
		catalog->available = reading.available;
	change_unmark(catalog);
	free(reading.text);
	arena_fini(&arena);
	return failed;
}

static void read_stale(struct catalog *catalog)
{
	struct target *targets = catalog->stale;
	size_t n = catalog->n_stale;
	struct error err;
	int failed = 0;

	catalog->stale = NULL;
	catalog->n_stale = 0;
	for (size_t i = 0; i < n && !failed && !catalog->stopping; i += BATCH_MAX)
		failed = read_some(catalog, targets + i, n - i < BATCH_MAX ? n - i : BATCH_MAX,
				   &err);
	for (size_t i = 0; i < n; i++) {
		free(targets[i].id);
		free(targets[i].zfs_name);
	}
	free(targets);
	if (failed)
		catalog->due = 0;
}

static void reap(struct catalog *catalog)
{
	catalog->reap_due = false;
	if (!catalog->reap)
		return;
	pthread_mutex_unlock(&catalog->mutex);
	catalog->reap(catalog, catalog->reap_arg);
	pthread_mutex_lock(&catalog->mutex);
}

void *catalog_run(void *arg)
{
	struct catalog *catalog = arg;
	auto_unlock pthread_mutex_t *held = lock_take(&catalog->mutex);

	while (!catalog->stopping) {
		int64_t now = now_ms(), next = catalog->due;
		if (catalog->due <= now)
			read_all(catalog);
		else if (catalog->n_stale && catalog->stale_due <= now)
			read_stale(catalog);
		else if (catalog->reap_due && catalog->state == CATALOG_READY)
			reap(catalog);
		else {
			if (catalog->n_stale && catalog->stale_due < next)
				next = catalog->stale_due;
			catalog_wait(catalog, next);
		}
	}
	return NULL;
}

int catalog_look(struct catalog *catalog, int64_t deadline, const char *id, const char *zfs_name,
		 struct error *err)
{
	struct target target = {(char *)id, (char *)zfs_name};
	struct error said;

	pthread_mutex_lock(&catalog->mutex);
	int failed = read_some(catalog, &target, 1, &said);
	pthread_mutex_unlock(&catalog->mutex);
	return failed ? catalog_refresh(catalog, deadline, err) : 0;
}
