/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of node/zfs: error texts of zfs and the codes that they are mapped to, then each operation
 * on a real pool.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/mount/mount.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"

#include "tests/unit/node/pool.h"

static struct arena arena;
static struct pool pool;

static void error_texts_become_codes(void **state)
{
	static const struct {
		const char *said;
		enum error_code code;
	} cases[] = {
		{"cannot create 'D': dataset already exists", ERR_ALREADY_EXISTS},
		{"cannot create 'D': parent does not exist", ERR_UNAVAILABLE},
		{"cannot create 'D': no such pool 'P'", ERR_UNAVAILABLE},
		{"cannot create 'D': out of space", ERR_RESOURCE_EXHAUSTED},
		{"cannot create snapshot 'D@S': out of space", ERR_RESOURCE_EXHAUSTED},
		{"cannot set property for 'D': size is greater than available space",
		 ERR_RESOURCE_EXHAUSTED},
		{"cannot destroy 'D@S': snapshot has dependent clones", ERR_FAILED_PRECONDITION},
		{"bad numeric value 'x'", ERR_INVALID_ARGUMENT},
		{"cannot open 'D': dataset does not exist", ERR_NOT_FOUND},
		{"cannot destroy 'D': filesystem has children\nuse '-r' to ...",
		 ERR_FAILED_PRECONDITION},
		{"umount: M: target is busy.", ERR_FAILED_PRECONDITION},
		{"cannot unmount 'M': pool or dataset is busy", ERR_FAILED_PRECONDITION},
		{"cannot destroy 'D': dataset is busy", ERR_FAILED_PRECONDITION},
		{"cannot destroy 'D': permission denied", ERR_INTERNAL},
		{"Key load error: Incorrect key provided for 'D'.", ERR_UNAUTHENTICATED},
		{"Key load error: Hex key too short (expected 64).", ERR_UNAUTHENTICATED},
		{"Key load error: Key already loaded for 'D'.", ERR_ALREADY_EXISTS},
		{"Key unload error: Key already unloaded for 'D'.", ERR_ALREADY_EXISTS},
		{"cannot promote 'D': not a cloned filesystem", ERR_ALREADY_EXISTS},
		{"Key unload error: 'D' is busy.", ERR_FAILED_PRECONDITION},
		{"cannot create 'D': Encryption feature not enabled.", ERR_FAILED_PRECONDITION},
		{"cannot create 'D': pool I/O is currently suspended", ERR_UNAVAILABLE},
		{"cannot receive: failed to read from stream", ERR_UNAVAILABLE},
		{"something never seen", ERR_INTERNAL},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(zfs_fail(cases[i].said, &err), -1);
		assert_int_equal(err.code, cases[i].code);
		/* zfs advises to use force; the error text must not repeat that */
		assert_null(strstr(err.text, "-r' to"));
		assert_non_null(strstr(err.text, "zfs printed \""));
	}
}

static void the_error_line_is_quoted(void **state)
{
	struct error err;

	(void)state;
	zfs_fail(
		"sudo: unable to resolve host H\ncannot unmount 'M': pool or dataset is busy\nmore",
		&err);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_ptr_equal(strstr(err.text,
				"zfs printed \"cannot unmount 'M': pool or dataset is busy\";"),
			 err.text);
}

static int create(const char *id, struct error *err)
{
	const struct zfs_properties properties = {
		.rows = {{"canmount", "noauto"},
			 {"mountpoint", "legacy"},
			 {"refquota", "8388608"},
			 {"zcsi:version", "1"},
			 {"zcsi:volume", id}},
		.n = 5,
	};

	return zfs_create(dataset_name(&arena, pool.parent, id), &properties, err);
}

static struct dataset *read_back(const char *id)
{
	const char *name = dataset_name(&arena, pool.parent, id);
	struct listing listing;
	struct error err;

	assert_int_equal(zfs_read(&arena, pool.parent, &name, 1, &listing, &err), 0);
	struct dataset *found =
		listing.n_datasets ? dataset_copy(&arena, listing.datasets[0]) : NULL;
	free(listing.text);
	return found;
}

/* The text that a killed zfs printed before is about one name; names that it did not reach are
 * unknown. So the code is UNAVAILABLE, not NOT_FOUND. */
static void a_killed_zfs_is_unavailable_and_not_missing(void **state)
{
	const char *const argv[] = {
		"sh", "-c", "echo \"cannot open 'p/a': dataset does not exist\" >&2; kill -9 $$",
		NULL};
	auto_free char *out = NULL;
	struct error err;

	(void)state;
	assert_int_equal(zfs_run_once(&(struct exec){.argv = argv}, &out, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "signal 9 (Killed)"));
}

/* zfs load-key exits with 255, which a shell would also report for signal 127. */
static void an_exit_status_is_no_signal(void **state)
{
	const char *const argv[] = {
		"sh", "-c", "echo 'Key load error: Incorrect key provided.' >&2; exit 255", NULL};
	struct error err;

	(void)state;
	assert_int_equal(zfs_run_once(&(struct exec){.argv = argv}, NULL, &err), -1);
	assert_int_equal(err.code, ERR_UNAUTHENTICATED);
}

static void a_dataset_is_created_listed_and_destroyed(void **state)
{
	const struct zfs_properties changes = {
		.rows = {{"refquota", "16777216"}, {"zcsi:published", "-"}}, .n = 2};
	struct listing list;
	struct error err;

	(void)state;
	need_pool(&pool);
	char *name = dataset_name(&arena, pool.parent, "vol");
	assert_int_equal(create("vol", &err), 0);
	assert_int_equal(create("vol", &err), -1);
	assert_int_equal(err.code, ERR_ALREADY_EXISTS);
	assert_int_equal(read_back("vol")->size, 8388608);
	assert_true(read_back("vol")->guid != 0);
	assert_int_equal(zfs_set(name, &changes, &err), 0);
	assert_int_equal(zfs_list(&arena, pool.parent, &list, &err), 0);
	assert_int_equal(list.n_datasets, 1);
	assert_int_equal(list.datasets[0]->size, 16777216);
	assert_true(list.available > 0);
	free(list.text);
	assert_int_equal(zfs_destroy(name, &err), 0);
	assert_int_equal(zfs_destroy(name, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_null(read_back("vol"));
}

static void a_dataset_with_snapshots_is_not_destroyed(void **state)
{
	struct error err;

	(void)state;
	need_pool(&pool);
	char *name = dataset_name(&arena, pool.parent, "kept");
	assert_int_equal(create("kept", &err), 0);
	assert_int_equal(shell("zfs snapshot %s@s", name), 0);
	assert_int_equal(zfs_destroy(name, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(read_back("kept"));
	assert_int_equal(shell("zfs destroy %s@s", name), 0);
	assert_int_equal(zfs_destroy(name, &err), 0);
}

static void a_destroyed_snapshot_goes_with_its_last_clone(void **state)
{
	const struct zfs_properties none = {.n = 0},
				    mounted = {.rows = {{"canmount", "noauto"}}, .n = 1};
	struct error err;

	(void)state;
	need_pool(&pool);
	assert_int_equal(create("origin", &err), 0);
	const char *snapshot = arena_printf(&arena, "%s/origin@s", pool.parent);
	const char *clone = arena_printf(&arena, "%s/clone", pool.parent);
	assert_int_equal(zfs_snapshot(&snapshot, 1, &none, &err), 0);
	assert_int_equal(zfs_snapshot(&snapshot, 1, &none, &err), -1);
	assert_int_equal(err.code, ERR_ALREADY_EXISTS);
	assert_int_equal(shell("zfs hold tag %s", snapshot), 0);
	assert_int_equal(zfs_destroy_snapshot(snapshot, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "zfs holds"));
	assert_int_equal(zfs_clone(snapshot, clone, &mounted, &err), 0);
	assert_int_equal(zfs_destroy_snapshot(snapshot, &err), -1);
	assert_non_null(strstr(err.text, "zfs holds"));
	assert_int_equal(shell("zfs release tag %s", snapshot), 0);
	assert_int_equal(zfs_destroy_snapshot(snapshot, &err), 0);
	assert_int_equal(shell("zfs list %s >/dev/null", snapshot), 0);
	assert_int_equal(zfs_destroy(clone, &err), 0);
	assert_int_not_equal(shell("zfs list %s >/dev/null 2>&1", snapshot), 0);
	assert_int_equal(zfs_destroy_snapshot(snapshot, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(zfs_clone(snapshot, clone, &none, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(zfs_destroy(read_back("origin")->name, &err), 0);
}

/* zfs_read() leaves out names that do not exist. It fails only if the parent does not exist. */
static void missing_names_are_left_out(void **state)
{
	struct listing listing;
	struct error err;

	(void)state;
	need_pool(&pool);
	assert_int_equal(create("here", &err), 0);
	const char *names[] = {dataset_name(&arena, pool.parent, "not"),
			       dataset_name(&arena, pool.parent, "here")};
	assert_int_equal(zfs_read(&arena, pool.parent, names, 2, &listing, &err), 0);
	assert_true(listing.parent);
	assert_true(listing.available > 0);
	assert_int_equal(listing.n_datasets, 1);
	assert_string_equal(listing.datasets[0]->id, "here");
	free(listing.text);
	assert_int_equal(zfs_read(&arena, "node-unit-none/p", names, 2, &listing, &err), -1);
	assert_int_equal(zfs_destroy(names[1], &err), 0);
}

static void missing_pools_and_datasets_have_their_codes(void **state)
{
	struct zfs_pool there = {0};
	struct listing list;
	struct error err;

	(void)state;
	need_pool(&pool);
	assert_int_equal(zfs_read_pool(pool.parent, &there, &err), 0);
	assert_true(there.guid != 0);
	assert_string_equal(there.health, "ONLINE");
	assert_int_equal(zfs_read_pool("node-unit-none/p", &there, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_int_equal(zfs_list(&arena, "node-unit-none/p", &list, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	const struct zfs_properties quota = {.rows = {{"refquota", "1M"}}, .n = 1};
	char *orphan = arena_printf(&arena, "%s/none/v", pool.parent);
	assert_int_equal(zfs_create(orphan, &quota, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
}

static void a_dataset_is_mounted_at_the_given_path(void **state)
{
	struct mount_table table;
	struct error err;

	(void)state;
	need_pool(&pool);
	char *name = dataset_name(&arena, pool.parent, "mounted");
	char *path = arena_printf(&arena, "%s/a path", pool.directory);
	assert_int_equal(create("mounted", &err), 0);
	assert_int_equal(shell("mkdir '%s'", path), 0);
	assert_int_equal(zfs_mount(name, path, &err), 0);
	assert_int_equal(mount_table_read(&arena, &table, &err), 0);
	assert_non_null(mount_at(&table, path));
	assert_true(mount_is_of(mount_at(&table, path), name));
	assert_int_equal(mount_remove(path, &err), 0);
	assert_int_equal(zfs_destroy(name, &err), 0);
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
		cmocka_unit_test(error_texts_become_codes),
		cmocka_unit_test(the_error_line_is_quoted),
		cmocka_unit_test(a_killed_zfs_is_unavailable_and_not_missing),
		cmocka_unit_test(an_exit_status_is_no_signal),
		cmocka_unit_test(a_dataset_is_created_listed_and_destroyed),
		cmocka_unit_test(a_dataset_with_snapshots_is_not_destroyed),
		cmocka_unit_test(a_destroyed_snapshot_goes_with_its_last_clone),
		cmocka_unit_test(missing_names_are_left_out),
		cmocka_unit_test(missing_pools_and_datasets_have_their_codes),
		cmocka_unit_test(a_dataset_is_mounted_at_the_given_path),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
