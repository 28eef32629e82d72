/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the snapshots that copies lose: those that their owner does not have any more. */
#include "node/copy/plan.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_copies.c */
#include "tests/unit/node/scripted_copies.c"

static bool twin_has(size_t at, uint64_t guid)
{
	for (size_t i = 0; i < twins[at].n; i++)
		if (twins[at].guids[i] == guid)
			return true;
	return false;
}

/* Push to all copies, which all get the same snapshot. */
static void push_to_all(void)
{
	orders_push_now(&orders, "v");
	for (size_t i = 0; i < COPIES; i++)
		push_again(i);
}

static void a_copy_has_no_more_snapshots_than_its_owner_and_one(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		push_to_all();
	for (size_t i = 0; i < COPIES; i++)
		assert_int_equal(twins[i].n, 2);
	assert_int_equal(own_snapshots(), 1);
}

/*
 * A snapshot that another copy has stays, even if this host has only a bookmark of it: the node of
 * that copy may become the owner.
 */
static void a_copy_keeps_what_another_one_has(void **state)
{
	(void)state;
	push_to_all();
	uint64_t base = newest_of(1);
	twins[1].silent = true;
	for (int i = 0; i < 5; i++)
		push_to_all();
	assert_true(twin_has(0, base) && twin_has(2, base));
	delete_snapshot(base);
	for (int i = 0; i < 5; i++)
		push_to_all();
	assert_true(has(base, true) && twin_has(0, base) && twin_has(2, base));
	twins[1].silent = false;
	for (int i = 0; i < 3; i++)
		push_to_all();
	assert_false(twin_has(0, base) || twin_has(1, base) || twin_has(2, base));
}

static void a_snapshot_that_was_deleted_goes(void **state)
{
	(void)state;
	push_to_all();
	ask_for_snapshot();
	uint64_t first = last_guid;
	ask_for_snapshot();
	uint64_t second = last_guid;
	push_to_all();
	push_to_all();
	assert_true(twin_has(0, first) && twin_has(0, second));
	delete_snapshot(first);
	push_to_all();
	for (size_t i = 0; i < COPIES; i++)
		assert_true(!twin_has(i, first) && twin_has(i, second));
}

static void a_held_snapshot_stays(void **state)
{
	(void)state;
	push_to_all();
	uint64_t first = twins[0].held = newest_of(0);
	for (int i = 0; i < 5; i++)
		push_to_all();
	assert_true(twin_has(0, first) && !twin_has(1, first) && twins[0].n == 3);
	twins[0].held = 0;
	push_to_all();
	assert_false(twin_has(0, first));
}

static void snapshots_of_other_tools_stay(void **state)
{
	(void)state;
	rules = "snapshots=all";
	push_to_all();
	uint64_t tool = take_by_tool("tool-1");
	push_to_all();
	delete_snapshot(tool);
	for (int i = 0; i < 5; i++)
		push_to_all();
	assert_true(twin_has(0, tool) && twins[0].n == 3);
}

static void a_failed_thinning_does_not_fail_the_push(void **state)
{
	(void)state;
	twins[0].keeps = true;
	for (int i = 0; i < 5; i++)
		push_to_all();
	assert_true(twins[0].n == 5 && twins[1].n == 2);
	twins[0].keeps = false;
	push_to_all();
	assert_int_equal(twins[0].n, 2);
}

static void a_push_that_fails_loses_nothing(void **state)
{
	(void)state;
	twins[0].keeps = true;
	for (int i = 0; i < 5; i++)
		push_to_all();
	twins[0].keeps = false;
	twins[0].cut = 1;
	orders_push_now(&orders, "v");
	assert_int_equal(push_again(0), -1);
	assert_int_equal(twins[0].n, 5);
}

/* A copy has to lose the old snapshot before the new one of the same name can arrive. */
static void another_snapshot_gets_the_name_of_a_deleted_one(void **state)
{
	(void)state;
	push_to_all();
	for (int i = 0; i < 3; i++) {
		uint64_t old = guid_of(VOLUME "@asked-daily");
		if (old)
			delete_snapshot(old);
		make(n_made, VOLUME "@asked-daily", ++last_guid);
		push_to_all();
		for (size_t at = 0; at < COPIES; at++)
			assert_true(twin_has(at, guid_of(VOLUME "@asked-daily")) &&
				    !(old && twin_has(at, old)));
	}
}

static void an_old_snapshot_of_many_goes_too(void **state)
{
	(void)state;
	settle();
	ask_for_snapshot();
	uint64_t oldest = last_guid;
	for (int i = 0; i < 10; i++)
		ask_for_snapshot();
	push_to_all();
	shown = 4;
	delete_snapshot(oldest);
	push_to_all();
	for (size_t i = 0; i < COPIES; i++)
		assert_true(!twin_has(i, oldest) && twins[i].n >= 10);
}

/* The rule which snapshots a copy loses, without pushes */

static CopyState *copy_of(size_t n)
{
	CopyState *copy = new_copy_state(&arena);

	copy->snapshots = arena_alloc(&arena, n * sizeof(*copy->snapshots));
	for (; copy->n_snapshots < n; copy->n_snapshots++) {
		CopySnapshot *snapshot = new_copy_snapshot(&arena);
		snapshot->guid = n - copy->n_snapshots;
		snapshot->ours = true;
		copy->snapshots[copy->n_snapshots] = snapshot;
	}
	return copy;
}

static struct history history_of(const char *text)
{
	struct history history;

	assert_true(history_parse(&arena, arena_strdup(&arena, text), &history));
	return history;
}

static void nothing_goes_that_is_newer_than_what_both_have(void **state)
{
	const struct history history = history_of("v@a\t3\t0\t0\nv#b\t2\t0\t-\n");

	(void)state;
	const ThinCopyRequest *request = plan_thin(&arena, copy_of(5), &history);
	assert_int_equal(request->n_snapshots, 1);
	assert_int_equal(request->snapshots[0]->guid, 1);
	assert_int_equal(plan_thin(&arena, NULL, &history)->n_snapshots, 0);
}

static void nothing_goes_if_both_have_nothing_in_common(void **state)
{
	const struct history history = history_of("v@a\t9\t0\t0\n"), none = history_of("");

	(void)state;
	assert_int_equal(plan_thin(&arena, copy_of(5), &history)->n_snapshots, 0);
	assert_int_equal(plan_thin(&arena, copy_of(5), &none)->n_snapshots, 0);
}

static void a_request_names_a_limited_number_of_snapshots(void **state)
{
	const struct history history = history_of("v@a\t600\t0\t0\n");

	(void)state;
	const ThinCopyRequest *request = plan_thin(&arena, copy_of(600), &history);
	assert_int_equal(request->n_snapshots, PLAN_THIN_MOST);
	assert_int_equal(request->snapshots[0]->guid, 599);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_copy_has_no_more_snapshots_than_its_owner_and_one),
		TEST(a_copy_keeps_what_another_one_has),
		TEST(a_snapshot_that_was_deleted_goes),
		TEST(a_held_snapshot_stays),
		TEST(snapshots_of_other_tools_stay),
		TEST(a_failed_thinning_does_not_fail_the_push),
		TEST(a_push_that_fails_loses_nothing),
		TEST(another_snapshot_gets_the_name_of_a_deleted_one),
		TEST(an_old_snapshot_of_many_goes_too),
		TEST(nothing_goes_that_is_newer_than_what_both_have),
		TEST(nothing_goes_if_both_have_nothing_in_common),
		TEST(a_request_names_a_limited_number_of_snapshots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
