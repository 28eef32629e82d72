/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the names and ids of snapshots and of deleted volumes, up to the longest ones.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/record/snapshot.h"
#include "tests/arena.h"

static const char *leaf(const char *zfs_name)
{
	return strchr(zfs_name, '@') + 1;
}

static char *repeat(char byte, size_t n)
{
	char *text = arena_alloc(&arena, n + 1);

	memset(text, byte, n);
	return text;
}

static void leaves_are_built_and_recognised(void **state)
{
	(void)state;
	assert_string_equal(snapshot_zfs_name(&arena, "t/p/a", "s 1"), "t/p/a@s_201");
	assert_string_equal(snapshot_group_zfs_name(&arena, "t/p/a", "s"), "t/p/a@s_g");
	assert_string_equal(snapshot_clone_zfs_name(&arena, "t/p/a", "b"), "t/p/a@_clone-b");
	assert_string_equal(snapshot_id(&arena, "a", "s_201"), "a@s_201");
	assert_true(snapshot_leaf_is(&arena, "s_201", "s 1"));
	assert_false(snapshot_leaf_is(&arena, "s", "s 1"));
	assert_true(snapshot_leaf_is_group(&arena, "s_g", "s"));
	assert_false(snapshot_leaf_is_group(&arena, "s", "s"));
	assert_false(snapshot_leaf_is_group(&arena, "_g", ""));
	assert_true(snapshot_leaf_is_hidden("_clone-b"));
	assert_true(snapshot_leaf_is_clone("_clone-b"));
	assert_false(snapshot_leaf_is_hidden("_2Db"));
	assert_false(snapshot_leaf_is_clone("_other"));
}

/* The parent has the maximum length; the test tries every length of the volume id and of the
 * snapshot name. */
static void all_names_fit_zfss_limit(void **state)
{
	char *parent = arena_printf(&arena, "t/%s", repeat('p', DATASET_PARENT_MAX - 2));

	(void)state;
	for (size_t i = 1; i <= DATASET_ID_MAX; i++) {
		char *text = repeat('n', i), *spaces = repeat(' ', i);
		char *name = dataset_name(&arena, parent, text);
		char *made[] = {snapshot_zfs_name(&arena, name, text),
				snapshot_zfs_name(&arena, name, spaces)};
		char *group = snapshot_group_zfs_name(&arena, name, text);
		assert_true(strlen(group) <= DATASET_NAME_MAX);
		assert_true(snapshot_leaf_is_group(&arena, leaf(group), text));
		assert_true(strlen(snapshot_clone_zfs_name(&arena, name, text)) <=
			    DATASET_NAME_MAX);
		assert_true(snapshot_leaf_is(&arena, leaf(made[0]), text));
		assert_true(snapshot_leaf_is(&arena, leaf(made[1]), spaces));
		char *trash = dataset_trash_name(&arena, parent, name, UINT64_MAX);
		for (size_t k = 0; k < COUNT(made); k++) {
			assert_true(strlen(made[k]) <= DATASET_NAME_MAX);
			assert_true(strlen(trash) + 1 + strlen(leaf(made[k])) <= DATASET_NAME_MAX);
		}
	}
}

static void shortened_names_differ(void **state)
{
	char *name = dataset_name(&arena, "t/p", repeat('v', 120));
	char *one = arena_printf(&arena, "%s1", repeat('n', 127));
	char *two = arena_printf(&arena, "%s2", repeat('n', 127));

	(void)state;
	assert_string_not_equal(snapshot_zfs_name(&arena, name, one),
				snapshot_zfs_name(&arena, name, two));
	assert_string_not_equal(snapshot_id(&arena, one, "s"), snapshot_id(&arena, two, "s"));
	assert_false(snapshot_leaf_is(&arena, leaf(snapshot_zfs_name(&arena, name, one)), two));
}

/* An id has at most 128 bytes and is cut between UTF-8 characters, because protobuf refuses an
 * incomplete character. */
static void ids_are_cut_between_characters(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		char *volume = arena_printf(
			&arena, "%s%s", repeat('v', (size_t)i),
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
			"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac");
		char *id = snapshot_id(&arena, volume, "snapshot");
		char *mark = strstr(id, "_h");
		assert_true(strlen(id) <= DATASET_ID_MAX);
		assert_non_null(mark);
		assert_int_equal((mark - id - i) % 3, 0);
		assert_int_equal(strncmp(id, volume, snapshot_id_prefix(volume)), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_are_built_and_recognised),
		cmocka_unit_test(all_names_fit_zfss_limit),
		cmocka_unit_test(shortened_names_differ),
		cmocka_unit_test(ids_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
