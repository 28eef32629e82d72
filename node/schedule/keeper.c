/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The keeper. Once a minute it compares the schedule of each volume with the snapshots that the
 * catalog has of it.
 *
 * Invariant: a snapshot is taken and destroyed as a call for its volume (node/stream/keyed.h), and
 * never while the volume moves to another node, which would not get the snapshot. Only snapshots
 * whose names a schedule has made are destroyed, by a plain `zfs destroy`, which refuses what is
 * held or cloned.
 */
#include "node/schedule/keeper.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/metrics.h"
#include "node/attach/complete.h"
#include "node/catalog/change.h"
#include "node/host/moves.h"
#include "node/host/owner.h"
#include "node/host/troubles.h"
#include "node/schedule/due.h"
#include "node/stream/copies.h"
#include "node/stream/keyed.h"
#include "node/stream/rounds.h"
#include "node/zfs/zfs.h"

#define LOOK_S   60
#define FIND_MS  1000   /* how long to wait for a volume in the catalog */
#define QUIET_MS 900000 /* between two warnings */

static struct metric taken =
	METRIC(COUNTER, "zcsi_scheduled_snapshots_total",
	       "Snapshots that a schedule wanted: taken, destroyed, or failed to be taken.",
	       "outcome");

struct keeper {
	const struct node *node;
	struct rounds *rounds;
	int64_t warned; /* when a failure was last logged as a warning, by now_ms; thread only */
	struct troubles failures; /* snapshots that were due and could not be taken */
};

/* A volume whose schedule is applied, in the queue of the calls for the volume. */
struct turn {
	struct keeper *keeper;
	const char *id;
	bool all; /* destroy what is to go, even if no snapshot is taken */
};

/* The scheduled snapshots of a volume, until a time. */
struct rows {
	struct scheduled *rows;
	const char **names; /* the ZFS names of the snapshots */
	size_t n;
};

static struct rows rows_of(struct catalog *catalog, struct arena *arena,
			   const struct dataset *volume, int64_t until)
{
	struct snapshot_list list;
	struct rows rows = {.n = 0};

	catalog_snapshots_of(catalog, arena, volume, &list);
	rows.rows = arena_alloc(arena, (list.n + 1) * sizeof(*rows.rows));
	rows.names = arena_alloc(arena, (list.n + 1) * sizeof(*rows.names));
	for (size_t i = 0; i < list.n; i++) {
		if (!scheduled_parse(snapshot_leaf(list.rows[i]), &rows.rows[rows.n]) ||
		    rows.rows[rows.n].time > until)
			continue;
		rows.names[rows.n++] = list.rows[i]->zfs_name;
	}
	return rows;
}

static void warn(struct keeper *keeper, const char *volume, const struct error *err)
{
	int64_t now = now_ms();

	metric_count(&taken, "failed");
	if (keeper->warned && now - keeper->warned < QUIET_MS) {
		log_debug("cannot take a scheduled snapshot", log_str("volume", volume),
			  log_str("error", err->text));
		return;
	}
	keeper->warned = now;
	log_warn("cannot take a scheduled snapshot, trying again each minute",
		 log_str("volume", volume), log_str("error", err->text));
}

Trouble *keeper_trouble(struct keeper *keeper, struct arena *arena, const struct dataset *volume)
{
	struct schedule ignored;

	if (!keeper || !*volume->schedule)
		return NULL;
	if (schedule_parse(volume->schedule, &ignored))
		return troubles_find(&keeper->failures, arena, volume->id);
	Trouble *trouble = new_trouble(arena);
	trouble->text = arena_printf(
		arena,
		"its schedule, zcsi:keep, cannot be read: '%s', so no snapshots are taken; give it "
		"one such as keep=hourly=24,daily=30, or none",
		volume->schedule);
	trouble->remedy = arena_printf(arena, "zcsi modify %s keep=none", volume->id);
	return trouble;
}

/* Take a snapshot for these units. Returns 0, or -1 with *err. */
static int take(struct catalog *catalog, struct arena *arena, const struct dataset *volume,
		const struct scheduled *scheduled, struct error *err)
{
	struct zfs_properties none = {.n = 0};
	const char *leaf = scheduled_leaf(arena, scheduled);
	const char *name = arena_printf(arena, "%s@%s", volume->name, leaf);
	/* The next scan adds the guid and the exact creation time. */
	const struct snapshot made = {.id = snapshot_id(arena, volume->id, leaf),
				      .dataset_id = volume->id,
				      .zfs_name = (char *)name,
				      .dataset_guid = volume->guid,
				      .creation = scheduled->time,
				      .size = volume->size,
				      .has_key = volume->has_key};

	if (complete_volume(arena, volume, err) < 0 || zfs_snapshot(&name, 1, &none, err) < 0)
		return -1;
	catalog_put_snapshot(catalog, &made);
	metric_count(&taken, "taken");
	return 0;
}

static void destroy(struct catalog *catalog, const char *name)
{
	struct error err;

	if (zfs_destroy(name, &err) < 0 && err.code != ERR_NOT_FOUND) {
		log_debug("cannot destroy an old scheduled snapshot", log_str("snapshot", name),
			  log_str("error", err.text));
		return;
	}
	catalog_drop(catalog, name);
	metric_count(&taken, "destroyed");
}

/* Check that the volume is here and stays here, and read it from the catalog. */
static int find(const struct turn *turn, struct arena *arena, struct dataset **ret,
		struct error *err)
{
	const struct node *node = turn->keeper->node;

	if (moves_wait(node->moves, now_ms(), err) < 0 ||
	    moves_check(node->moves, turn->id, err) < 0)
		return -1;
	if (catalog_get(node->catalog, now_ms() + FIND_MS, arena, turn->id, ret, err) < 0)
		return -1;
	return owner_check(node, *ret, err);
}

static void look_at(void *arg)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const struct turn *turn = arg;
	struct catalog *catalog = turn->keeper->node->catalog;
	struct scheduled now = {.time = time(NULL)};
	struct dataset *volume;
	struct schedule schedule;
	struct error err;

	if (find(turn, &arena, &volume, &err) < 0 || !schedule_parse(volume->schedule, &schedule))
		return;
	struct rows rows = rows_of(catalog, &arena, volume, INT64_MAX);
	now.units = due_units(&schedule, rows.rows, rows.n, now.time);
	if (now.units && take(catalog, &arena, volume, &now, &err) < 0) {
		warn(turn->keeper, volume->id, &err);
		troubles_note(&turn->keeper->failures, volume->id,
			      arena_printf(&arena,
					   "the snapshot that its schedule wants cannot be taken, "
					   "and is tried again each minute: %s",
					   err.text),
			      "");
	}
	if (!now.units && !turn->all)
		return;
	/*
	 * A clock that was ahead may have made snapshots of the future, which do not count as newer
	 * ones.
	 */
	rows = rows_of(catalog, &arena, volume, now.time);
	/* Destroy old snapshots also after a snapshot has failed: the pool may be full. */
	for (size_t i = 0; i < rows.n; i++)
		if (due_to_go(&schedule, rows.rows, rows.n, &rows.rows[i]))
			destroy(catalog, rows.names[i]);
}

/* Look at all volumes with a schedule. */
static int look(struct rounds *rounds, void *arg, bool all)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct keeper *keeper = arg;
	struct dataset_list volumes;

	catalog_scheduled(keeper->node->catalog, &arena, &volumes);
	for (size_t i = 0; i < volumes.n && !rounds_stopping(rounds); i++) {
		struct turn turn = {keeper, volumes.rows[i]->id, all};
		keyed_run(keeper->node->copies, turn.id, look_at, &turn);
	}
	troubles_end_round(&keeper->failures);
	return volumes.n ? LOOK_S : ROUNDS_IDLE;
}

int keeper_start(struct keeper **ret, const struct node *node, struct loop *loop, struct error *err)
{
	struct keeper *keeper = *ret = mem_alloc(sizeof(*keeper));
	const struct rounds_work work = {
		.what = "the thread for scheduled snapshots", .round = look, .arg = keeper};

	*keeper = (struct keeper){.node = node};
	troubles_init(&keeper->failures);
	return rounds_start(&keeper->rounds, node, loop, &work, err);
}

void keeper_look(struct keeper *keeper)
{
	if (keeper)
		rounds_soon(keeper->rounds);
}

void keeper_stop(struct keeper *keeper)
{
	if (!keeper)
		return;
	rounds_stop(keeper->rounds);
	troubles_fini(&keeper->failures);
	free(keeper);
}

void keeper_end(struct catalog *catalog, const struct dataset *deleted)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct rows rows = rows_of(catalog, &arena, deleted, INT64_MAX);

	for (size_t i = 0; i < rows.n; i++)
		destroy(catalog, rows.names[i]);
	if (rows.n)
		catalog_reap(catalog);
}

void keeper_metrics_write(FILE *out)
{
	metric_begin(&taken, "taken");
	metric_begin(&taken, "destroyed");
	metric_begin(&taken, "failed");
	metric_write(&taken, out);
}
