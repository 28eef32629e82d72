/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of restore_find(), which chooses the snapshot that is restored.
 */
#include "controller/cli/backup/restore.h"

#include "tests/arena.h"
#include "tests/cmocka.h"

static struct member n1 = {.node = "n1"}, n2 = {.node = "n2"};

/* Returns a backup whose snapshots have the names of `leafs`, and guids from 1 on. */
static struct kept_backup backup(struct member *member, const char *id, const char *const *leafs)
{
	BackupState *state = new_backup_state(&arena);

	state->id = arena_strdup(&arena, id);
	state->snapshots = arena_alloc(&arena, 8 * sizeof(*state->snapshots));
	for (; *leafs; leafs++) {
		CopySnapshot *snapshot = new_copy_snapshot(&arena);
		snapshot->name = arena_strdup(&arena, *leafs);
		state->snapshots[state->n_snapshots++] = snapshot;
		snapshot->guid = state->n_snapshots;
	}
	return (struct kept_backup){member, state, 0};
}

static const char *const three[] = {"_backup-27-n1", "_backup-26b-n1", "_backup-26a-n1", NULL};
static const char *const none[] = {NULL};

/* Returns the guid of the snapshot that restore_find() chooses, or minus the code of the error. */
static int64_t find(const char *what, const char *node)
{
	const struct kept_backup list[] = {
		backup(&n1, "a@b", three),   backup(&n2, "data", three),
		backup(&n1, "empty", none),  backup(&n1, "twice", three),
		backup(&n2, "twice", three),
	};
	struct error err;
	uint64_t guid;

	if (restore_find(list, COUNT(list), what, node, &guid, &err))
		return (int64_t)guid;
	return -(int64_t)err.code;
}

static void test_the_newest_snapshot_is_the_default(void **state)
{
	(void)state;
	assert_int_equal(find("data", NULL), 1);
	assert_int_equal(find("data", "n2"), 1);
	assert_int_equal(find("data", "n1"), -ERR_NOT_FOUND);
	assert_int_equal(find("missing", NULL), -ERR_NOT_FOUND);
	assert_int_equal(find("empty", NULL), -ERR_FAILED_PRECONDITION);
}

static void test_a_snapshot_is_named_by_its_begin(void **state)
{
	(void)state;
	assert_int_equal(find("data@_backup-26a-n1", NULL), 3);
	assert_int_equal(find("data@_backup-27", NULL), 1);
	assert_int_equal(find("data@_backup-26", NULL), -ERR_INVALID_ARGUMENT);
	assert_int_equal(find("data@_backup-25", NULL), -ERR_NOT_FOUND);
}

static void test_an_id_may_have_an_at_sign(void **state)
{
	(void)state;
	assert_int_equal(find("a@b", NULL), 1);
	assert_int_equal(find("a@b@_backup-26b", NULL), 2);
	assert_int_equal(find("a", NULL), -ERR_NOT_FOUND);
}

static void test_of_two_backups_the_node_is_named(void **state)
{
	(void)state;
	assert_int_equal(find("twice", NULL), -ERR_INVALID_ARGUMENT);
	assert_int_equal(find("twice@_backup-26b", "n1"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_newest_snapshot_is_the_default),
		cmocka_unit_test(test_a_snapshot_is_named_by_its_begin),
		cmocka_unit_test(test_an_id_may_have_an_at_sign),
		cmocka_unit_test(test_of_two_backups_the_node_is_named),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
