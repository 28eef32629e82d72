/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the catalog while it reads the pool for the first time, with a real pool and a zfs that
 * ends when the test wants it.
 */
#include "tests/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "common/clock.h"
#include "node/catalog/change.h"
#include "node/zfs/zfs_run.h"

#include "tests/unit/node/pool.h"

static struct arena arena;
static struct pool pool;

static char *name_of(const char *id)
{
	return dataset_name(&arena, pool.parent, id);
}

static void create(const char *id)
{
	assert_int_equal(shell("zfs create -o canmount=noauto -o mountpoint=legacy "
			       "-o zcsi:version=1 -o zcsi:volume=%s %s",
			       id, name_of(id)),
			 0);
}

static int64_t in_seconds(int seconds)
{
	return now_ms() + seconds * 1000;
}

static struct catalog *started(void)
{
	struct catalog *catalog = catalog_new(pool.parent, 3600);
	struct error err;

	assert_int_equal(catalog_start(catalog, &err), 0);
	return catalog;
}

/* Put a zfs first in PATH that waits for a lock if its arguments match. Returns the lock. */
static int hold(const char *pattern)
{
	const char *gate = arena_printf(&arena, "%s/held/gate", pool.directory);

	assert_int_equal(shell("mkdir %s/held && printf '#!/bin/sh\ncase \"$*\" in\n"
			       "%s) flock -s %s true ;;\nesac\nexec %%s \"$@\"\n' "
			       "$(command -v zfs) >%s/held/zfs && chmod +x %s/held/zfs",
			       pool.directory, pattern, gate, pool.directory, pool.directory),
			 0);
	setenv("PATH", arena_printf(&arena, "%s/held:%s", pool.directory, getenv("PATH")), 1);
	int lock = open(gate, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	return lock;
}

static void drop_hold(const char *path)
{
	setenv("PATH", path, 1);
	assert_int_equal(shell("rm -r %s/held", pool.directory), 0);
}

static struct catalog_pool await_reading(struct catalog *catalog)
{
	int64_t deadline = in_seconds(20);
	struct catalog_pool seen;

	do {
		catalog_pool(catalog, &arena, &seen);
		usleep(10000);
	} while (!seen.reading && now_ms() < deadline);
	return seen;
}

/* Returns the number of volumes that are listed, or -1 if that is unavailable. */
static int count(struct catalog *catalog, int64_t deadline)
{
	struct dataset_list page;
	struct error err;
	bool more;

	if (catalog_page(catalog, deadline, &arena, "", 100, &page, &more, &err) < 0)
		return err.code == ERR_UNAVAILABLE ? -1 : -2;
	return (int)page.n;
}

/* Returns the number of a volume's snapshots, or minus the code of the error. */
static int snapshots_of(struct catalog *catalog, int64_t deadline, const char *id)
{
	struct dataset *found;
	struct error err;

	if (catalog_get(catalog, deadline, &arena, id, &found, &err) < 0)
		return -(int)err.code;
	return (int)found->snapshots;
}

/* Look up a snapshot by its id. Returns 0, or minus the code of the error. */
static int find_snapshot(struct catalog *catalog, int64_t deadline, const char *id)
{
	struct snapshot *found;
	struct error err;

	if (catalog_snapshot(catalog, deadline, &arena, id, &found, &err) < 0)
		return -(int)err.code;
	assert_true(found->guid != 0);
	return 0;
}

/*
 * While the pool is read for the first time, a volume is found or missing at once, and a snapshot
 * is found; but no snapshot counts as missing.
 */
static void names_are_read_during_the_first_reading(void **state)
{
	auto_free char *path = mem_strdup(getenv("PATH"));

	(void)state;
	need_pool(&pool);
	create("e1");
	create("e2");
	assert_int_equal(shell("zfs snapshot %s@s", name_of("e1")), 0);
	int lock = hold("\"get -rHp \"*|\"get -Hp -d 1 -t \"*");
	struct catalog *catalog = started();
	struct catalog_pool seen = await_reading(catalog);
	assert_true(seen.reading && seen.loading && seen.guid && seen.available && !seen.names);

	assert_int_equal(find_snapshot(catalog, in_seconds(20), "e1@s"), 0);
	assert_int_equal(snapshots_of(catalog, now_ms(), "e1"), 1);
	assert_int_equal(snapshots_of(catalog, now_ms(), "e2"), -ERR_UNAVAILABLE);
	assert_int_equal(snapshots_of(catalog, in_seconds(20), "e2"), 0);
	assert_int_equal(snapshots_of(catalog, in_seconds(20), "e3"), -ERR_NOT_FOUND);
	assert_int_equal(find_snapshot(catalog, now_ms() + 100, "e3@s"), -ERR_UNAVAILABLE);
	assert_int_equal(count(catalog, now_ms() + 100), -1);

	create("e3");
	catalog_put(catalog, &(struct dataset){.id = (char *)"e3", .name = name_of("e3")});
	close(lock);
	assert_int_equal(count(catalog, in_seconds(20)), 3);
	assert_int_equal(find_snapshot(catalog, in_seconds(20), "e1@s"), 0);
	catalog_free(catalog);
	drop_hold(path);
	assert_int_equal(shell("zfs destroy -r %s && zfs destroy %s && zfs destroy %s",
			       name_of("e1"), name_of("e2"), name_of("e3")),
			 0);
}

/*
 * All volumes are known before the snapshots are. zfs-fuse cannot list volumes without snapshots.
 */
static void volumes_are_known_before_snapshots(void **state)
{
	auto_free char *path = mem_strdup(getenv("PATH"));
	struct snapshot *snapshot;
	struct error err;

	(void)state;
	need_pool(&pool);
	if (!zfs_is_the_kernels())
		return;
	create("v1");
	create("v2");
	assert_int_equal(shell("zfs snapshot %s@s", name_of("v1")), 0);
	int lock = hold("\"get -rHp \"*");
	struct catalog *catalog = started();
	assert_int_equal(count(catalog, in_seconds(20)), 2);
	assert_true(await_reading(catalog).loading);
	assert_int_equal(catalog_await(catalog, now_ms() + 100, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);

	assert_int_equal(snapshots_of(catalog, now_ms(), "v3"), -ERR_NOT_FOUND);
	assert_int_equal(snapshots_of(catalog, in_seconds(20), "v1"), 1);
	assert_int_equal(find_snapshot(catalog, now_ms(), "v1@s"), 0);
	assert_int_equal(
		catalog_snapshot_named(catalog, now_ms() + 100, &arena, "s", &snapshot, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_int_equal(snapshots_of(catalog, in_seconds(20), "v2"), 0);

	assert_int_equal(shell("zfs snapshot %s@late", name_of("v2")), 0);
	close(lock);
	assert_int_equal(find_snapshot(catalog, in_seconds(20), "v2@late"), 0);
	assert_int_equal(catalog_await(catalog, now_ms(), &err), 0);
	catalog_free(catalog);
	drop_hold(path);
	assert_int_equal(
		shell("zfs destroy -r %s && zfs destroy -r %s", name_of("v1"), name_of("v2")), 0);
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
		cmocka_unit_test(names_are_read_during_the_first_reading),
		cmocka_unit_test(volumes_are_known_before_snapshots),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
