/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of history_read(), of the choice of the point from which a stream begins, and of
 * send_size().
 */
#include "node/copy/history.h"

#include "node/zfs/send_flags.h"
#include "node/zfs/zfs_run.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

static const char text[] = "t/p/v@a\t1\t100\t-\n"
			   "t/p/v#_repl-n2\t1\t100\t-\n"
			   "t/p/v@_repl-x\t2\t200\t-\n"
			   "t/p/v#_repl-n3\t2\t200\t-\n"
			   "t/p/v@b\t3\t300\t4096\n"
			   "t/p/v@_repl-y\t4\t400\t-\n";

static int64_t timeout_ms; /* the timeout of the last program */

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	(void)err;
	timeout_ms = exec->timeout_ms;
	*ret_out = mem_strdup(text);
	return 0;
}

static void many_snapshots_may_be_read_for_long(void **state)
{
	struct history history;
	struct error err;

	(void)state;
	assert_int_equal(history_read(&arena, "t/p/v", &history, &err), 0);
	assert_int_equal(history.n, 6);
	assert_int_equal(timeout_ms, 600000);
}

static struct history parse(const char *listed)
{
	struct history history;

	assert_true(history_parse(&arena, arena_strdup(&arena, listed), &history));
	return history;
}

/* Returns a copy with snapshots of these guids, newest first; 0 ends the list. */
static CopyState *copy_with(const uint64_t *guids)
{
	CopyState *copy = new_copy_state(&arena);

	copy->snapshots = arena_alloc(&arena, 8 * sizeof(*copy->snapshots));
	for (; *guids; guids++) {
		CopySnapshot *snapshot = new_copy_snapshot(&arena);
		snapshot->guid = *guids;
		copy->snapshots[copy->n_snapshots++] = snapshot;
	}
	return copy;
}

static void points_are_listed_oldest_first(void **state)
{
	const struct history history = parse(text);

	(void)state;
	assert_int_equal(history.n, 6);
	assert_string_equal(history.points[1].name, "t/p/v#_repl-n2");
	assert_true(history.points[1].bookmark && !history.points[1].own);
	assert_true(history.points[2].own && !history.points[2].bookmark);
	assert_string_equal(history.points[4].leaf, "b");
	assert_int_equal(history.points[4].creation, 300);
	assert_int_equal(history.points[4].used, 4096);
	assert_int_equal(history.points[1].used, 0);
	assert_ptr_equal(history_newest_own(&history), &history.points[5]);
}

static void the_base_is_the_newest_that_both_have(void **state)
{
	const struct history history = parse(text);

	(void)state;
	assert_int_equal(history_base(&history, copy_with((uint64_t[]){3, 1, 0}))->guid, 3);
	/* A snapshot that only the copy has is no base. */
	assert_int_equal(history_base(&history, copy_with((uint64_t[]){99, 2, 1, 0}))->guid, 2);
	assert_null(history_base(&history, copy_with((uint64_t[]){99, 0})));
	assert_null(history_base(&history, copy_with((uint64_t[]){0})));
	assert_null(history_base(&history, NULL));
}

static void a_bookmark_is_a_base_and_no_snapshot(void **state)
{
	const struct history history = parse("t/p/v#_repl-n2\t7\t100\t-\nt/p/v@b\t8\t200\t-\n");
	const struct point *base = history_base(&history, copy_with((uint64_t[]){7, 0}));

	(void)state;
	assert_string_equal(base->name, "t/p/v#_repl-n2");
	assert_null(history_snapshot(&history, 7));
	assert_non_null(history_snapshot(&history, 8));
	assert_null(history_newest_own(&history));
}

static void a_bookmark_has_the_time_of_its_copy(void **state)
{
	const struct history history = parse(text);

	(void)state;
	assert_int_equal(history_synced(&history, "t/p/v#_repl-n3"), 200000000);
	assert_int_equal(history_synced(&history, "t/p/v#_repl-n4"), 0);
}

static void other_outputs_are_no_history(void **state)
{
	static const char *const texts[] = {"t/p/v\t1\t2\n", "t/p/v@a\n", "t/p/v@a\t1\n",
					    "t/p/v@a\t1\t2\n"};
	struct history history;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_false(history_parse(&arena, arena_strdup(&arena, texts[i]), &history));
	assert_int_equal(parse("").n, 0);
}

static void the_bookmark_of_a_node_is_a_name_of_zfs(void **state)
{
	(void)state;
	assert_string_equal(history_bookmark(&arena, "t/p/v", "n_2/x"), "t/p/v#_repl-n_5F2_2Fx");
}

static void the_size_of_a_stream_is_the_last_word(void **state)
{
	(void)state;
	assert_int_equal(send_size("full\tt/p/v@a\t4096\nsize\t4096\n"), 4096);
	assert_int_equal(send_size("incremental\ta\tt/p/v@b\t624\n"), 624);
	/* Output for a stream that is continued, and for one whose size zfs does not print. */
	assert_int_equal(send_size("resume token contents:\nnvlist version: 0\n\ttoguid = 0x5\n"
				   "full\tt/p/v@a\t777\n"),
			 777);
	assert_int_equal(send_size("full\tt/p/v@a\n"), 0);
	assert_int_equal(send_size(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_snapshots_may_be_read_for_long),
		cmocka_unit_test(points_are_listed_oldest_first),
		cmocka_unit_test(the_base_is_the_newest_that_both_have),
		cmocka_unit_test(a_bookmark_is_a_base_and_no_snapshot),
		cmocka_unit_test(a_bookmark_has_the_time_of_its_copy),
		cmocka_unit_test(other_outputs_are_no_history),
		cmocka_unit_test(the_bookmark_of_a_node_is_a_name_of_zfs),
		cmocka_unit_test(the_size_of_a_stream_is_the_last_word),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
