/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the catalog with a real pool: calls that wait for the first scan, recovery from errors,
 * and concurrent changes.
 */
#include "tests/cmocka.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog/change.h"
#include "node/zfs/zfs.h"

#include "tests/unit/node/pool.h"

static struct arena arena;
static struct pool pool;

static struct dataset *dataset(const char *id)
{
	struct dataset made = {0};

	made.id = arena_strdup(&arena, id);
	made.name = dataset_name(&arena, pool.parent, id);
	return dataset_copy(&arena, &made);
}

static int create(const char *id)
{
	const struct zfs_properties properties = {
		.rows = {{"canmount", "noauto"},
			 {"mountpoint", "legacy"},
			 {"refquota", "8388608"},
			 {"zcsi:version", "1"},
			 {"zcsi:volume", id}},
		.n = 5,
	};
	struct error err;

	return zfs_create(dataset_name(&arena, pool.parent, id), &properties, &err);
}

static int64_t in_seconds(int seconds)
{
	return now_ms() + seconds * 1000;
}

static struct catalog *just_started(const char *parent)
{
	struct catalog *catalog = catalog_new(parent, 3600);
	struct error err;

	assert_int_equal(catalog_start(catalog, &err), 0);
	return catalog;
}

/* Returns a catalog that has ended its first scan, with or without success. */
static struct catalog *started(const char *parent)
{
	struct catalog *catalog = just_started(parent);
	struct snapshot *found;
	struct error err;

	catalog_snapshot_named(catalog, in_seconds(20), &arena, "none", &found, &err);
	return catalog;
}

static void calls_wait_for_the_first_scan(void **state)
{
	struct dataset *found;
	struct dataset_list page;
	struct error err;
	bool more;

	(void)state;
	need_pool(&pool);
	assert_int_equal(create("one") | create("two") | create("three"), 0);
	struct catalog *catalog = just_started(pool.parent);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "one", &found, &err), 0);
	assert_int_equal(found->size, 8388608);
	assert_true(found->guid != 0);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "none", &found, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(catalog_page(catalog, in_seconds(20), &arena, "", 2, &page, &more, &err),
			 0);
	assert_int_equal(page.n, 2);
	assert_true(more);
	assert_string_equal(page.rows[0]->id, "one");
	assert_string_equal(page.rows[1]->id, "three");
	assert_int_equal(
		catalog_page(catalog, in_seconds(20), &arena, "three", 2, &page, &more, &err), 0);
	assert_int_equal(page.n, 1);
	assert_false(more);
	catalog_free(catalog);
}

static void calls_fail_as_unavailable_before_the_first_scan(void **state)
{
	struct catalog *catalog = catalog_new("node-unit-none/p", 3600);
	struct catalog_pool seen;
	struct dataset *found;
	struct error err;

	(void)state;
	assert_int_equal(catalog_get(catalog, now_ms(), &arena, "one", &found, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	catalog_pool(catalog, &arena, &seen);
	assert_non_null(strstr(seen.problem, "node-unit-none/p"));
	catalog_free(catalog);
}

static void external_changes_are_found_by_a_refresh(void **state)
{
	struct dataset *found;
	struct error err;

	(void)state;
	need_pool(&pool);
	struct catalog *catalog = started(pool.parent);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "late", &found, &err), -1);
	assert_int_equal(create("late"), 0);
	assert_int_equal(catalog_refresh(catalog, in_seconds(20), &err), 0);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "late", &found, &err), 0);
	assert_int_equal(shell("zfs destroy %s", found->name), 0);
	assert_int_equal(catalog_refresh(catalog, in_seconds(20), &err), 0);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "late", &found, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	catalog_free(catalog);
}

/* catalog_reread() reads one name, and no other change that was made outside of zcsi. */
static void reread_reads_one_name(void **state)
{
	struct dataset *found;
	struct error err;

	(void)state;
	need_pool(&pool);
	struct catalog *catalog = started(pool.parent);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "l1", &found, &err), -1);
	assert_int_equal(create("l1") | create("l2"), 0);
	char *name = dataset("l1")->name;
	assert_int_equal(catalog_reread(catalog, in_seconds(20), name, &err), 0);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "l1", &found, &err), 0);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "l2", &found, &err), -1);
	assert_int_equal(shell("zfs destroy %s && zfs destroy %s", name, dataset("l2")->name), 0);
	assert_int_equal(catalog_reread(catalog, in_seconds(20), name, &err), 0);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "l1", &found, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	catalog_free(catalog);
}

/* The agent puts a new dataset without a guid. The catalog reads that dataset soon, and no
 * other. */
static void own_changes_are_reread_by_name(void **state)
{
	struct dataset *found;
	struct error err;

	(void)state;
	need_pool(&pool);
	struct catalog *catalog = started(pool.parent);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "own", &found, &err), -1);
	assert_int_equal(create("own") | create("others"), 0);
	catalog_put(catalog, dataset("own"));
	int64_t deadline = in_seconds(20);
	do {
		usleep(10000);
		assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "own", &found, &err),
				 0);
	} while (!found->guid && now_ms() < deadline);
	assert_true(found->guid != 0);
	assert_int_equal(found->size, 8388608);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "others", &found, &err), -1);
	catalog_free(catalog);
	assert_int_equal(
		shell("zfs destroy %s/own && zfs destroy %s/others", pool.parent, pool.parent), 0);
}

static bool has_dataset(struct catalog *catalog, const char *id)
{
	struct dataset *found;
	struct error err;

	return !catalog_get(catalog, in_seconds(20), &arena, id, &found, &err);
}

static bool has_snapshot(struct catalog *catalog, const char *id)
{
	struct snapshot *found;
	struct error err;

	return !catalog_snapshot(catalog, in_seconds(20), &arena, id, &found, &err);
}

/* After a full scan the catalog rests ten times as long as the scan took. A scan that takes seconds
 * on a busy machine is followed by the next one within two minutes. */
#define until(condition)                                                                           \
	do {                                                                                       \
		int64_t deadline = in_seconds(120);                                                \
		while (!(condition) && now_ms() < deadline)                                        \
			usleep(10000);                                                             \
		assert_true(condition);                                                            \
	} while (0)

/* catalog_mark_stale() makes the catalog read the name and its snapshots again, and nothing
 * else. */
static void stale_names_are_reread_with_their_snapshots(void **state)
{
	char *name = dataset("t1")->name, *away = dataset("away")->name;

	(void)state;
	need_pool(&pool);
	struct catalog *catalog = started(pool.parent);
	assert_false(has_dataset(catalog, "t1"));
	assert_int_equal(create("t1") | create("untouched"), 0);
	assert_int_equal(shell("zfs snapshot %s@s", name), 0);
	catalog_mark_stale(catalog, name);
	until(has_dataset(catalog, "t1"));
	assert_true(has_snapshot(catalog, "t1@s"));
	assert_int_equal(shell("zfs snapshot %s@late && zfs destroy %s@s", name, name), 0);
	catalog_mark_stale(catalog, arena_printf(&arena, "%s@late", name));
	until(has_snapshot(catalog, "t1@late"));
	assert_true(has_snapshot(catalog, "t1@s"));
	catalog_mark_stale(catalog, arena_printf(&arena, "%s@s", name));
	until(!has_snapshot(catalog, "t1@s"));
	assert_int_equal(shell("zfs rename %s %s", name, away), 0);
	catalog_mark_stale(catalog, name);
	until(!has_dataset(catalog, "t1"));
	assert_false(has_snapshot(catalog, "t1@late"));
	assert_int_equal(shell("zfs rename %s %s", away, name), 0);
	catalog_mark_stale(catalog, name);
	until(has_dataset(catalog, "t1"));
	assert_true(has_snapshot(catalog, "t1@late"));
	assert_false(has_dataset(catalog, "untouched"));
	catalog_free(catalog);
	assert_int_equal(
		shell("zfs destroy -r %s && zfs destroy %s", name, dataset("untouched")->name), 0);
}

/* Put a script named zfs first in PATH that appends a line to a file for each run. */
static void count_runs(void)
{
	assert_int_equal(shell("printf '#!/bin/sh\necho >>%s/runs\nexec %%s \"$@\"\n' "
			       "$(command -v zfs) >%s/zfs && chmod +x %s/zfs",
			       pool.directory, pool.directory, pool.directory),
			 0);
	setenv("PATH", arena_printf(&arena, "%s:%s", pool.directory, getenv("PATH")), 1);
}

static size_t runs(void)
{
	auto_fclose FILE *file = fopen(arena_printf(&arena, "%s/runs", pool.directory), "re");
	size_t n = 0;

	for (int c = 0; file && c != EOF; c = fgetc(file))
		n += c == '\n';
	return n;
}

#define BURST 50

/* Fifty changes of five volumes cost one zfs process, and one more for each volume that was not in
 * the catalog. */
static void a_burst_costs_one_program(void **state)
{
	static const char *const ids[] = {"b0", "b1", "b2", "b3", "b4"};
	struct dataset *last;
	struct error err;

	(void)state;
	need_pool(&pool);
	count_runs();
	struct catalog *catalog = started(pool.parent);
	assert_false(has_dataset(catalog, "b0"));
	for (size_t i = 0; i < COUNT(ids); i++)
		assert_int_equal(create(ids[i]), 0);
	size_t before = runs();
	for (size_t i = 0; i < BURST; i++)
		catalog_mark_stale(catalog, dataset(ids[i % COUNT(ids)])->name);
	until(has_dataset(catalog, "b4"));
	assert_int_equal(runs() - before, 1 + COUNT(ids));
	assert_int_equal(shell("zfs set refquota=16M %s", dataset("b4")->name), 0);
	before = runs();
	for (size_t i = 0; i < BURST; i++)
		catalog_mark_stale(catalog, dataset(ids[i % COUNT(ids)])->name);
	until(!catalog_get(catalog, in_seconds(20), &arena, "b4", &last, &err) &&
	      last->size == 16777216);
	assert_int_equal(runs() - before, 1);
	catalog_free(catalog);
	for (size_t i = 0; i < COUNT(ids); i++)
		assert_int_equal(zfs_destroy(dataset(ids[i])->name, &err), 0);
}

/* A full scan is done if events were lost, if more names are stale than the list holds, and when
 * the catalog begins to follow events. */
static void lost_events_cause_a_full_scan(void **state)
{
	struct error err;

	(void)state;
	need_pool(&pool);
	struct catalog *catalog = started(pool.parent);
	assert_false(has_dataset(catalog, "lost"));
	assert_int_equal(create("lost"), 0);
	catalog_rescan_soon(catalog);
	until(has_dataset(catalog, "lost"));
	assert_int_equal(zfs_destroy(dataset("lost")->name, &err), 0);
	for (size_t i = 0; i < 1100; i++)
		catalog_mark_stale(catalog, dataset(arena_printf(&arena, "none%zu", i))->name);
	until(!has_dataset(catalog, "lost"));
	assert_int_equal(create("lost"), 0);
	catalog_follow(catalog, true);
	until(has_dataset(catalog, "lost"));
	catalog_free(catalog);
	assert_int_equal(zfs_destroy(dataset("lost")->name, &err), 0);
}

struct claimer {
	struct catalog *catalog;
	int failed;
	enum error_code code;
};

static void *claim_in_vain(void *arg)
{
	struct claimer *claimer = arg;
	struct error err = {0};

	claimer->failed = catalog_lock_key(claimer->catalog, now_ms() + 50, "name s", &err);
	claimer->code = err.code;
	return NULL;
}

static void *claim_in_time(void *arg)
{
	struct claimer *claimer = arg;
	struct error err = {0};

	claimer->failed = catalog_lock_key(claimer->catalog, in_seconds(20), "name s", &err);
	return NULL;
}

static void a_key_is_locked_by_one_caller(void **state)
{
	struct claimer claimer = {.catalog = catalog_new("node-unit-none/p", 3600)};
	struct error err;
	pthread_t thread;

	(void)state;
	assert_int_equal(catalog_lock_key(claimer.catalog, in_seconds(20), "name s", &err), 0);
	assert_int_equal(catalog_lock_key(claimer.catalog, in_seconds(20), "name t", &err), 0);
	pthread_create(&thread, NULL, claim_in_vain, &claimer);
	pthread_join(thread, NULL);
	assert_int_equal(claimer.failed, -1);
	assert_int_equal(claimer.code, ERR_ABORTED);
	pthread_create(&thread, NULL, claim_in_time, &claimer);
	catalog_unlock_key(claimer.catalog, "name s");
	pthread_join(thread, NULL);
	assert_int_equal(claimer.failed, 0);
	catalog_free(claimer.catalog);
}

/* If the parent does not exist, the error contains the command that creates it. After it was
 * created, the catalog recovers without a restart. */
static void the_catalog_recovers_once_the_parent_exists(void **state)
{
	char *parent = arena_printf(&arena, "%s/later", pool.name);
	struct catalog_pool seen;
	struct dataset *found;
	struct error err;

	(void)state;
	need_pool(&pool);
	struct catalog *catalog = started(parent);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "x", &found, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "zfs create"));
	assert_non_null(strstr(err.text, parent));
	assert_int_equal(shell("zfs create -o mountpoint=none %s", parent), 0);
	int64_t deadline = in_seconds(20);
	do {
		catalog_pool(catalog, &arena, &seen);
		usleep(10000);
	} while (*seen.problem && now_ms() < deadline);
	assert_string_equal(seen.problem, "");
	assert_true(seen.guid != 0);
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "x", &found, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	catalog_free(catalog);
	assert_int_equal(shell("zfs destroy %s", parent), 0);
}

static void missing_pool_is_a_problem(void **state)
{
	struct dataset *found;
	struct error err;

	(void)state;
	need_pool(&pool);
	struct catalog *catalog = started("node-unit-none/p");
	assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "x", &found, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'node-unit-none'"));
	assert_non_null(strstr(err.text, "zpool import"));
	assert_int_equal(catalog_refresh(catalog, in_seconds(20), &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	catalog_free(catalog);
}

static atomic_bool enough;

static void *scan_repeatedly(void *catalog)
{
	struct error err;

	while (!enough)
		catalog_refresh(catalog, in_seconds(20), &err);
	return NULL;
}

/* A scan that began before a change must not undo that change when it ends. */
static void a_scan_does_not_undo_newer_changes(void **state)
{
	struct dataset *found;
	struct error err;
	pthread_t reader;

	(void)state;
	need_pool(&pool);
	/* The more datasets a scan reads, the older its results are when it ends. */
	for (int i = 0; i < 40; i++)
		assert_int_equal(create(arena_printf(&arena, "bulk%d", i)), 0);
	struct catalog *catalog = started(pool.parent);
	assert_int_equal(pthread_create(&reader, NULL, scan_repeatedly, catalog), 0);
	for (int i = 0; i < rounds(40); i++) {
		assert_int_equal(create("flicker"), 0);
		catalog_put(catalog, dataset("flicker"));
		for (int k = 0; k < 20; k++) {
			assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "flicker",
						     &found, &err),
					 0);
			usleep(500);
		}
		assert_int_equal(zfs_destroy(dataset("flicker")->name, &err), 0);
		catalog_drop(catalog, dataset("flicker")->name);
		for (int k = 0; k < 20; k++) {
			assert_int_equal(catalog_get(catalog, in_seconds(20), &arena, "flicker",
						     &found, &err),
					 -1);
			usleep(500);
		}
	}
	enough = true;
	pthread_join(reader, NULL);
	catalog_free(catalog);
}

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, SIZE_MAX);
	return pool_make(&pool);
}

static int teardown(void **state)
{
	(void)state;
	arena_fini(&arena);
	return pool_destroy(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_fail_as_unavailable_before_the_first_scan),
		cmocka_unit_test(calls_wait_for_the_first_scan),
		cmocka_unit_test(external_changes_are_found_by_a_refresh),
		cmocka_unit_test(reread_reads_one_name),
		cmocka_unit_test(own_changes_are_reread_by_name),
		cmocka_unit_test(stale_names_are_reread_with_their_snapshots),
		cmocka_unit_test(a_burst_costs_one_program),
		cmocka_unit_test(lost_events_cause_a_full_scan),
		cmocka_unit_test(a_key_is_locked_by_one_caller),
		cmocka_unit_test(the_catalog_recovers_once_the_parent_exists),
		cmocka_unit_test(missing_pool_is_a_problem),
		cmocka_unit_test(a_scan_does_not_undo_newer_changes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
