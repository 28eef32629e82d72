/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of pushes of a volume to several copies: what arrives, and which snapshots stay. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_copies.c */
#include "tests/unit/node/scripted_copies.c"

/* Push to all copies until they have data, and the same newest snapshot. */
static void settle_alike(void)
{
	settle();
	orders_push_now(&orders, "v");
	for (size_t i = 0; i < COPIES; i++)
		assert_int_equal(push_again(i), 0);
}

static void a_push_brings_a_copy_up_to_date(void **state)
{
	(void)state;
	settle();
	assert_int_equal(push_to(0), 0);
	assert_true(newest_of(0) == last_guid && guid_of(VOLUME "#_repl-n2") == last_guid);
	assert_int_equal(own_snapshots(), COPIES);
}

static void a_node_that_was_lost_gets_no_data_before_it_counts(void **state)
{
	(void)state;
	settle();
	strcpy(owner, "boot=b,lost=n2,lost=n3");
	uint64_t before = newest_of(0);
	assert_int_equal(push_to(0), -1);
	assert_true(newest_of(0) == before);
	strcpy(owner, "boot=b,lost=n3");
	assert_int_equal(push_to(0), 0);
	assert_true(newest_of(0) == last_guid);
}

static void all_copies_share_a_snapshot(void **state)
{
	(void)state;
	settle();
	orders_push_now(&orders, "v");
	for (size_t i = 0; i < COPIES; i++)
		assert_int_equal(push_again(i), 0);
	assert_int_equal(last_guid, SETTLED + 1);
	for (size_t i = 0; i < COPIES; i++)
		assert_true(newest_of(i) == last_guid && !orders.rows[i]->wanted);
	assert_int_equal(own_snapshots(), 1);
}

static void a_snapshot_from_before_the_request_is_not_enough(void **state)
{
	(void)state;
	settle();
	push_to(0);
	push_to(1);
	assert_int_equal(last_guid, SETTLED + 2);
	start();
	orders_push_now(&orders, "v");
	assert_int_equal(push_again(1), 0);
	assert_int_equal(last_guid, SETTLED + 3);
}

static void another_try_takes_no_other_snapshot(void **state)
{
	(void)state;
	settle();
	twins[0].cut = 1;
	assert_int_equal(push_to(0), -1);
	assert_int_equal(push_again(0), 0);
	assert_true(last_guid == SETTLED + 1 && newest_of(0) == last_guid);
	/* The first try failed when it asked the silent node for its copy. */
	twins[0].silent = true;
	assert_int_equal(push_to(0), -1);
	twins[0].silent = false;
	assert_int_equal(push_again(0), 0);
	assert_true(last_guid == SETTLED + 2 && newest_of(0) == last_guid);
}

/* The copies are due, without a request for a push (`zcsi sync`). */
static void copies_that_are_due_share_a_young_snapshot(void **state)
{
	(void)state;
	settle();
	push_again(0);
	assert_true(last_guid == SETTLED && newest_of(0) == last_guid);
	for (size_t i = 0; i < n_made; i++)
		made[i].creation -= 60;
	for (size_t i = 0; i < COPIES; i++)
		assert_int_equal(push_again(i), 0);
	assert_true(last_guid == SETTLED + 1 && newest_of(0) == newest_of(2));
}

/* A snapshot from the future counted as young would keep the copies from new data until then. */
static void a_snapshot_from_before_the_clock_was_set_back_is_not_young(void **state)
{
	(void)state;
	settle();
	push_again(0);
	assert_int_equal(last_guid, SETTLED);
	for (size_t i = 0; i < n_made; i++)
		made[i].creation += 3600;
	push_again(0);
	assert_true(last_guid == SETTLED + 1 && newest_of(0) == last_guid);
}

/* If nothing else is written, no later push would send the snapshot that was asked for. */
static void a_snapshot_that_was_asked_for_since_is_not_left_out(void **state)
{
	(void)state;
	settle();
	push_again(0);
	ask_for_snapshot();
	uint64_t asked = last_guid;
	assert_int_equal(push_again(1), 0);
	assert_int_equal(twins[1].guids[twins[1].n - 2], asked);
}

static void a_copy_keeps_what_another_ones_stream_leads_to(void **state)
{
	(void)state;
	settle_alike();
	uint64_t base = newest_of(1);
	twins[1].cut = 1;
	assert_int_equal(push_to(1), -1);
	uint64_t to = twins[1].to;
	for (int i = 0; i < 3; i++)
		assert_int_equal(push_to(0), 0);
	assert_true(has(to, false) && has(base, false));
	assert_int_equal(push_to(2), 0);
	assert_int_equal(push_to(1), 0);
	assert_false(has(to, true) || has(base, true));
}

static void a_first_stream_that_was_cut_goes_on(void **state)
{
	(void)state;
	push_to(0);
	twins[1].cut = 1;
	assert_int_equal(push_to(1), -1);
	uint64_t to = twins[1].to;
	push_to(0);
	assert_true(has(to, false));
	twins[1].silent = true;
	push_to(1);
	push_to(0);
	assert_true(has(to, false));
}

/* Returns true if the copy has a snapshot. */
static bool has_got(size_t at, uint64_t guid)
{
	for (size_t i = 0; i < twins[at].n; i++)
		if (twins[at].guids[i] == guid)
			return true;
	return false;
}

/*
 * The node of the other copy may become the owner, and its pushes to this copy begin at that
 * snapshot.
 */
static void a_copy_gets_the_snapshot_that_another_copy_has(void **state)
{
	(void)state;
	settle();
	twins[0].silent = true;
	assert_int_equal(push_to(1), 0);
	uint64_t has = newest_of(1);
	assert_int_equal(push_to(0), -1);
	twins[0].silent = false;
	twins[1].cut = 1;
	assert_int_equal(push_to(1), -1);
	uint64_t to = twins[1].to;
	twins[1].silent = true;
	assert_int_equal(push_to(0), 0);
	assert_true(newest_of(0) == last_guid && has_got(0, has) && has_got(0, to));
}

/* After a restart of zcsi-node, only its bookmark is known of a copy on a silent node. */
static void a_copy_gets_the_snapshot_that_a_silent_copy_may_have(void **state)
{
	(void)state;
	settle();
	twins[0].silent = true;
	assert_int_equal(push_to(1), 0);
	uint64_t has = newest_of(1);
	twins[0].silent = false;
	twins[1].silent = true;
	start();
	assert_int_equal(push_to(1), -1);
	assert_int_equal(push_to(0), 0);
	assert_true(newest_of(0) == last_guid && has_got(0, has));
}

static void the_snapshot_that_a_silent_copy_has_stays(void **state)
{
	(void)state;
	settle();
	uint64_t base = newest_of(1);
	twins[1].silent = true;
	push_to(0);
	push_to(1);
	push_to(0);
	assert_true(has(base, false));
}

/* The interrupted stream goes on and arrives, and the next one is cut. */
static void a_copy_in_the_middle_of_its_streams_keeps_its_base(void **state)
{
	(void)state;
	settle();
	twins[1].cut = 1;
	push_to(1);
	twins[1].cut_after = 1;
	twins[1].cut = 1;
	assert_int_equal(push_to(1), -1);
	assert_true(twins[1].to && twins[1].from == newest_of(1));
	push_to(0);
	assert_true(has(newest_of(1), false));
	assert_int_equal(push_to(1), 0);
}

static void a_copy_whose_answer_was_lost_keeps_its_base(void **state)
{
	(void)state;
	settle();
	twins[1].unsaid = 1;
	assert_int_equal(push_to(1), -1);
	push_to(0);
	assert_true(has(newest_of(1), false));
	assert_int_equal(push_to(1), 0);
}

/*
 * Push as a move does, without an order of the pusher, which then forgets what it knew of the copy.
 * Returns the result of the push.
 */
static int push_by_mover(size_t at)
{
	static const struct node node = {.id = "n1"};
	static struct transfer_progress progress;
	struct pins_need needs[COPIES] = {{.heard = false}};
	struct push push = {.node = &node,
			    .volume = volume(),
			    .to = node_of(at),
			    .wanted = now_us(),
			    .needs = needs,
			    .n_needs = COPIES,
			    .progress = &progress,
			    .arena = &arena};
	struct error err;
	int64_t ignored;

	members_parse(&arena, MEMBERS, &push.members);
	for (size_t i = 0; i < COPIES; i++)
		needs[i].bookmark = history_bookmark(&arena, VOLUME, node_of((at + i) % COPIES));
	int failed = push_run(&push, &ignored, &err);
	orders_forget(&orders, VOLUME, node_of(at));
	return failed;
}

static void a_copy_keeps_what_a_failed_push_of_a_move_brought(void **state)
{
	(void)state;
	settle();
	twins[0].unsaid = 1;
	assert_int_equal(push_by_mover(0), -1);
	uint64_t base = newest_of(0);
	push_to(1);
	push_to(1);
	assert_true(has(base, false));
	assert_int_equal(push_to(0), 0);
	settle();
	assert_false(has(base, true));
}

static void move_to_n2(void)
{
	assert_int_equal(push_by_mover(0), -1);
}

static void a_push_learns_what_was_forgotten_while_it_waited(void **state)
{
	(void)state;
	settle();
	twins[0].unsaid = 1;
	while_locked = move_to_n2;
	push_to(1);
	uint64_t base = newest_of(0);
	push_to(1);
	assert_true(has(base, false));
	assert_int_equal(push_to(0), 0);
	settle();
	assert_false(has(base, true));
}

/*
 * The copy's bookmark moves to the snapshot before the next stream begins, because a person may
 * delete the snapshot then.
 */
static void a_snapshot_that_was_asked_for_is_a_base(void **state)
{
	(void)state;
	settle_alike();
	ask_for_snapshot();
	uint64_t asked = last_guid;
	twins[0].cut_after = 1;
	twins[0].cut = 1;
	assert_int_equal(push_to(0), -1);
	assert_true(newest_of(0) == asked && guid_of(VOLUME "#_repl-n2") == asked);
}

/* The volume has only a bookmark left of the snapshot at which the copy is. */
static void a_snapshot_may_be_deleted_after_its_answer_was_lost(void **state)
{
	(void)state;
	settle_alike();
	ask_for_snapshot();
	uint64_t asked = last_guid;
	twins[0].unsaid = 1;
	assert_int_equal(push_to(0), -1);
	assert_true(newest_of(0) == asked && guid_of(VOLUME "#_repl-n2") != asked);
	push_to(1);
	delete_snapshot(asked);
	assert_true(has(asked, true));
	settle();
	assert_false(has(asked, true));
}

/* The zcsi-node with the copy was killed before it had set the record of the snapshot. */
static void a_snapshot_without_its_record_gets_it_with_the_next_push(void **state)
{
	(void)state;
	settle_alike();
	ask_for_snapshot();
	twins[0].unsaid = 1;
	twins[0].ends = true;
	assert_int_equal(push_to(0), -1);
	assert_false(twins[0].described[twins[0].n - 1]);
	twins[0].cut = 1;
	assert_int_equal(push_to(0), -1);
	assert_true(twins[0].described[twins[0].n - 1]);
}

static void snapshots_of_other_tools_stay_here(void **state)
{
	(void)state;
	settle_alike();
	twins[0].keeps = true;
	take_by_tool("tool-1");
	size_t before = twins[0].n;
	assert_int_equal(push_to(0), 0);
	assert_int_equal(twins[0].n, before + 1);
}

static void snapshots_of_other_tools_are_sent_if_requested(void **state)
{
	(void)state;
	settle_alike();
	rules = "snapshots=all";
	twins[0].keeps = true;
	uint64_t first = take_by_tool("tool-1");
	ask_for_snapshot();
	make(n_made, VOLUME "@_clone-v", ++last_guid);
	take_by_tool("tool-2");
	size_t before = twins[0].n;
	assert_int_equal(push_to(0), 0);
	assert_int_equal(twins[0].n, before + 4);
	assert_int_equal(twins[0].guids[before], first);
	/*
	 * A young snapshot exists and nothing was written since, but a tool's snapshot is to be
	 * sent.
	 */
	uint64_t third = take_by_tool("tool-3");
	assert_int_equal(push_again(1), 0);
	assert_int_equal(twins[1].guids[twins[1].n - 2], third);
}

static void a_copy_with_a_snapshot_of_the_same_name_gets_the_others(void **state)
{
	(void)state;
	settle();
	rules = "snapshots=all";
	twins[0].foreign = "tool-1";
	take_by_tool("tool-1");
	uint64_t second = take_by_tool("tool-2");
	assert_int_equal(push_to(0), 0);
	assert_true(newest_of(0) == last_guid && twins[0].guids[twins[0].n - 2] == second);
}

static void a_copy_that_refuses_snapshots_of_other_tools_gets_ours(void **state)
{
	(void)state;
	settle();
	rules = "snapshots=all";
	twins[0].refuses = true;
	take_by_tool("tool-1");
	ask_for_snapshot();
	uint64_t asked = last_guid;
	assert_int_equal(push_to(0), 0);
	assert_true(newest_of(0) == last_guid && twins[0].guids[twins[0].n - 2] == asked);
}

static void unknown_snapshots_stay_after_a_restart(void **state)
{
	(void)state;
	settle();
	twins[1].cut = 1;
	push_to(1);
	uint64_t to = twins[1].to;
	twins[1].silent = true;
	start();
	for (size_t i = 0; i < COPIES; i++)
		push_to(i);
	size_t then = own_snapshots();
	for (size_t i = 0; i < 60; i++)
		push_to(i % COPIES);
	assert_true(has(to, false) && own_snapshots() <= then + 1);
	twins[1].silent = false;
	settle();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_push_brings_a_copy_up_to_date),
		TEST(a_node_that_was_lost_gets_no_data_before_it_counts),
		TEST(all_copies_share_a_snapshot),
		TEST(a_snapshot_from_before_the_request_is_not_enough),
		TEST(another_try_takes_no_other_snapshot),
		TEST(copies_that_are_due_share_a_young_snapshot),
		TEST(a_snapshot_from_before_the_clock_was_set_back_is_not_young),
		TEST(a_snapshot_that_was_asked_for_since_is_not_left_out),
		TEST(a_copy_keeps_what_another_ones_stream_leads_to),
		TEST(a_first_stream_that_was_cut_goes_on),
		TEST(a_copy_gets_the_snapshot_that_another_copy_has),
		TEST(a_copy_gets_the_snapshot_that_a_silent_copy_may_have),
		TEST(the_snapshot_that_a_silent_copy_has_stays),
		TEST(a_copy_in_the_middle_of_its_streams_keeps_its_base),
		TEST(a_copy_whose_answer_was_lost_keeps_its_base),
		TEST(a_copy_keeps_what_a_failed_push_of_a_move_brought),
		TEST(a_push_learns_what_was_forgotten_while_it_waited),
		TEST(a_snapshot_that_was_asked_for_is_a_base),
		TEST(a_snapshot_may_be_deleted_after_its_answer_was_lost),
		TEST(a_snapshot_without_its_record_gets_it_with_the_next_push),
		TEST(snapshots_of_other_tools_stay_here),
		TEST(snapshots_of_other_tools_are_sent_if_requested),
		TEST(a_copy_with_a_snapshot_of_the_same_name_gets_the_others),
		TEST(a_copy_that_refuses_snapshots_of_other_tools_gets_ours),
		TEST(unknown_snapshots_stay_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
