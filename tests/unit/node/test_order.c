/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the orders of the pusher: that they follow the members of volumes, and which order is
 * next.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_orders.c */
#include "tests/unit/node/scripted_orders.c"

static void there_is_an_order_for_each_other_node(void **state)
{
	struct dataset *rows[] = {volume("t/p/v", LINEAGE ":60:n2,n1,n3"),
				  volume("t/p/a", LINEAGE ":60:n1,n2"),
				  volume("t/p/_trash/w-1", LINEAGE ":60:n1,n2")};

	(void)state;
	follow(rows, COUNT(rows));
	assert_int_equal(orders.n, 4);
	assert_string_equal(orders.rows[0]->volume->name, "t/p/_trash/w-1");
	assert_true(orders.rows[0]->deleted);
	assert_string_equal(orders.rows[1]->volume->name, "t/p/a");
	assert_string_equal(orders.rows[3]->to, "n3");
	assert_false(orders.rows[3]->deleted);
	follow(rows, 1);
	assert_int_equal(orders.n, 2);
	follow(rows, 0);
	assert_int_equal(orders.n, 0);
}

static void the_copy_of_a_node_that_is_owed_is_dropped(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2,n3");
	struct order *n2 = orders.rows[0], *n3 = orders.rows[1];
	done(n2, wall_us(), now_ms() + 60000);
	assert_false(orders_drop(&orders, n2));
	follow_one(LINEAGE ":60:n1,n3:n2");
	assert_int_equal(orders.n, 2);
	assert_true(n2->owed && !n2->synced && !n3->owed);
	assert_true(n2->due <= now_ms() && orders_drop(&orders, n2));
	assert_false(orders_drop(&orders, n3));
	/* No snapshot is kept for the copy on n2, which is owed, and no push waits for it. */
	struct push push = {.arena = &arena};
	orders_refresh(&orders, n3, &push);
	assert_int_equal(push.n_needs, 1);
	done(n3, wall_us(), now_ms());
	assert_string_equal(*written_nodes(&orders, &arena), "n3");
	/* If n2 becomes a member again, its copy counts again. */
	follow_one(LINEAGE ":60:n1,n3,n2");
	assert_true(!n2->owed && !n2->known && !orders_drop(&orders, n2));
	follow_one(LINEAGE ":60:n1,n3");
	assert_int_equal(orders.n, 1);
}

static void a_pause_does_not_keep_the_copy_of_an_owed_node(void **state)
{
	struct dataset *row = volume("t/p/v", LINEAGE ":60:n1,n3:n2");

	(void)state;
	row->push = (char *)"paused";
	follow(&row, 1);
	assert_true(orders.rows[0]->owed && !orders.rows[0]->paused && orders.rows[1]->paused);
}

static void unreadable_members_give_no_order(void **state)
{
	(void)state;
	quiet();
	follow_one("n1,n2");
	assert_int_equal(orders.n, 0);
}

static void an_order_that_runs_is_not_removed(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2");
	struct order *order = orders_first(&orders, now_ms());
	order->running = true;
	assert_null(orders_first(&orders, now_ms()));
	follow(NULL, 0);
	assert_int_equal(orders.n, 1);
	assert_true(order->gone);
	order->running = false;
	assert_null(orders_first(&orders, now_ms()));
	orders_remove(&orders, order);
	assert_int_equal(orders.n, 0);
}

static void the_order_that_was_due_first_is_next(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2,n3,n4");
	orders.rows[0]->due += 3600000;
	orders.rows[2]->due -= 1000;
	assert_ptr_equal(orders_first(&orders, now_ms()), orders.rows[2]);
	done(orders.rows[2], 5, now_ms() + 60000);
	assert_ptr_equal(orders_first(&orders, now_ms()), orders.rows[1]);
	done(orders.rows[1], 5, now_ms() + 120000);
	assert_null(orders_first(&orders, now_ms()));
	assert_ptr_equal(orders_first(&orders, NO_DEADLINE), orders.rows[2]);
}

static void orders_of_a_volume_run_one_at_a_time(void **state)
{
	struct dataset *rows[] = {volume("t/p/v", LINEAGE ":60:n1,n2,n3"),
				  volume("t/p/w", LINEAGE ":60:n1,n2")};

	(void)state;
	follow(rows, COUNT(rows));
	orders.rows[0]->running = true;
	assert_ptr_equal(orders_first(&orders, now_ms()), orders.rows[2]);
	orders.rows[2]->running = true;
	assert_null(orders_first(&orders, now_ms()));
	orders.rows[0]->running = false;
	assert_non_null(orders_first(&orders, now_ms()));
}

static void a_request_while_it_runs_leads_to_another_push(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2");
	struct order *order = orders.rows[0];
	order->running = true;
	const struct synced before = {5, order->mark, now_us() - 1};
	orders_push_now(&orders, "v");
	order->running = false;
	order_done(order, &before, now_ms() + 60000);
	assert_ptr_equal(orders_first(&orders, now_ms()), order);
	assert_true(order->wanted);
	done(order, 6, now_ms() + 60000);
	assert_null(orders_first(&orders, now_ms()));
	assert_false(order->wanted);
}

static void a_snapshot_that_was_taken_while_it_ran_may_be_enough(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2");
	struct order *order = orders.rows[0];
	order->running = true;
	orders_push_now(&orders, "v");
	order->running = false;
	done(order, 5, now_ms() + 60000);
	assert_null(orders_first(&orders, now_ms()));
}

/* `zcsi sync` fails only if a push fails that began after its request. */
static void a_push_from_before_the_request_does_not_fail_it(void **state)
{
	struct error err = {ERR_UNAVAILABLE, "cut"};

	(void)state;
	quiet();
	follow_one(LINEAGE ":60:n1,n2");
	struct order *order = orders.rows[0];
	order->running = true;
	orders_push_now(&orders, "v");
	order->running = false;
	order_failed(order, &err, now_ms() + 60000);
	assert_true(!order->failed && order->wanted);
	assert_ptr_equal(orders_first(&orders, now_ms()), order);
	order_failed(order, &err, now_ms() + 60000);
	assert_true(order->failed && order->wanted);
	assert_null(orders_first(&orders, now_ms()));
}

/* Make the volume paused, or not, and return its first order. */
static struct order *pause_it(const char *name, const char *rules)
{
	struct dataset *row = volume(name, LINEAGE ":60:n1,n2");

	row->push = (char *)rules;
	follow(&row, 1);
	return orders.rows[0];
}

static void a_request_for_a_paused_volume_waits(void **state)
{
	const struct synced nothing = {.time = 5};

	(void)state;
	struct order *order = pause_it("t/p/v", "paused");
	orders_push_now(&orders, "v");
	order_done(order, &nothing, now_ms() + 60000);
	assert_null(orders_first(&orders, now_ms()));
}

static void an_order_is_due_at_once_when_it_is_paused_and_resumed(void **state)
{
	struct error err = {ERR_UNAVAILABLE, "away"};

	(void)state;
	quiet();
	struct order *order = pause_it("t/p/v", "");
	order_failed(order, &err, now_ms() + 60000);
	assert_null(orders_first(&orders, now_ms()));
	pause_it("t/p/v", "paused");
	assert_ptr_equal(orders_first(&orders, now_ms()), order);
	order_paused(order, now_ms() + 60000);
	assert_null(orders_first(&orders, now_ms()));
	assert_true(!order->failed && !order->error);
	pause_it("t/p/v", "-");
	assert_ptr_equal(orders_first(&orders, now_ms()), order);
	assert_false(order->paused);
}

static void the_copies_of_a_deleted_volume_are_not_paused(void **state)
{
	(void)state;
	const struct order *order = pause_it("t/p/_trash/v-1", "paused");
	assert_true(order->deleted && !order->paused);
}

static void a_request_stays_until_a_push_succeeds(void **state)
{
	struct error err = {ERR_UNAVAILABLE, "away"};

	(void)state;
	quiet();
	follow_one(LINEAGE ":60:n1,n2");
	orders_push_now(&orders, "v");
	order_failed(orders.rows[0], &err, now_ms());
	assert_true(orders.rows[0]->wanted);
	done(orders.rows[0], 5, 0);
	assert_false(orders.rows[0]->wanted);
}

static void a_push_gets_the_needs_of_other_copies(void **state)
{
	struct push push = {.arena = &arena};

	(void)state;
	follow_one(LINEAGE ":60:n1,n2,n3,n4");
	orders.rows[0]->taken = (struct push_taken){.guid = 7, .at = 70};
	orders.rows[1]->taken = (struct push_taken){.guid = 8, .at = 80};
	orders.rows[2]->need = (struct pins_need){.heard = true, .to = 9};
	orders.rows[0]->gone = true;
	orders_refresh(&orders, orders.rows[1], &push);
	assert_true(push.taken.guid == 8 && push.n_needs == 2);
	assert_string_equal(push.needs[0].bookmark, "t/p/v#_repl-n3");
	assert_true(push.needs[1].heard && push.needs[1].to == 9);
	push.needs[0].has = 8;
	order_known(orders.rows[1], 0);
	order_learn(orders.rows[1], &push);
	orders_refresh(&orders, orders.rows[2], &push);
	assert_true(push.taken.guid == 8 && push.needs[1].has == 8);
}

/* The copy of an owed node is not looked up, because it would get a time again by that. */
static void the_needs_of_an_owed_copy_do_not_count(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2:n3");
	struct order *n2 = orders.rows[0], *n3 = orders.rows[1];
	assert_true(n3->owed);
	assert_true(order_is_unknown(n2));
	assert_false(order_is_unknown(n3));
	order_known(n2, 7);
	assert_true(order_is_unknown(n2)); /* which snapshots n2 needs is not known */
	n2->need.heard = true;
	assert_false(order_is_unknown(n2));
	n2->deleted = true;
	n2->known = false;
	assert_false(order_is_unknown(n2));
}

/* A running push reports what it knew at its begin, which may have been forgotten since. */
static void a_need_forgotten_while_an_order_ran_stays_forgotten(void **state)
{
	struct push push = {.arena = &arena};

	(void)state;
	follow_one(LINEAGE ":60:n1,n2");
	order_known(orders.rows[0], 7);
	orders.rows[0]->need = (struct pins_need){.heard = true, .has = 9};
	orders_refresh(&orders, orders.rows[0], &push);
	orders_forget(&orders, "t/p/v", "n9");
	orders_forget(&orders, "t/p/v", "n2");
	order_learn(orders.rows[0], &push);
	assert_false(orders.rows[0]->need.heard || orders.rows[0]->known);
}

/* If each order called a node that is away, the threads would have no time for other nodes. */
static void a_node_that_is_away_is_called_by_a_single_order(void **state)
{
	struct error err = {ERR_UNAVAILABLE, "away"};

	(void)state;
	quiet();
	struct dataset *rows[] = {volume("t/p/a", LINEAGE ":60:n1,n2,n3"),
				  volume("t/p/b", LINEAGE ":60:n1,n2,n3")};
	follow(rows, 2);
	struct order *one = orders.rows[0], *other = orders.rows[2];
	assert_null(orders_away(&orders, other, &arena));
	one->called = now_us();
	one->silent = now_ms() + 60000;
	order_failed(one, &err, now_ms() + 30000);
	assert_string_equal(orders_away(&orders, other, &arena), "away");
	assert_null(orders_away(&orders, one, &arena));
	assert_null(orders_away(&orders, orders.rows[3], &arena));
	/* After a request (`zcsi sync`) the node is called again, because it may be back. */
	other->wanted = one->called + 1;
	assert_null(orders_away(&orders, other, &arena));
	other->wanted = 0;
	/* Two orders have called the node, and one of them calls it again. */
	other->silent = now_ms() + 60000;
	other->called = one->called;
	order_failed(other, &err, now_ms() + 30000);
	assert_non_null(orders_away(&orders, one, &arena));
	assert_null(orders_away(&orders, other, &arena));
	other->silent = now_ms() - 1;
	assert_null(orders_away(&orders, one, &arena));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(there_is_an_order_for_each_other_node),
		TEST(the_copy_of_a_node_that_is_owed_is_dropped),
		TEST(a_pause_does_not_keep_the_copy_of_an_owed_node),
		TEST(unreadable_members_give_no_order),
		TEST(an_order_that_runs_is_not_removed),
		TEST(the_order_that_was_due_first_is_next),
		TEST(orders_of_a_volume_run_one_at_a_time),
		TEST(a_request_while_it_runs_leads_to_another_push),
		TEST(a_snapshot_that_was_taken_while_it_ran_may_be_enough),
		TEST(a_push_from_before_the_request_does_not_fail_it),
		TEST(a_request_for_a_paused_volume_waits),
		TEST(an_order_is_due_at_once_when_it_is_paused_and_resumed),
		TEST(the_copies_of_a_deleted_volume_are_not_paused),
		TEST(a_request_stays_until_a_push_succeeds),
		TEST(a_push_gets_the_needs_of_other_copies),
		TEST(the_needs_of_an_owed_copy_do_not_count),
		TEST(a_need_forgotten_while_an_order_ran_stays_forgotten),
		TEST(a_node_that_is_away_is_called_by_a_single_order),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
