/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of how much copies lack: what ZFS prints of it, what the orders keep of that, and when ZFS
 * is asked.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_orders.c */
#include "tests/unit/node/scripted_orders.c"

#define N2 "t/p/v#_repl-n2"
#define N3 "t/p/v#_repl-n3"

/* Store rows as if ZFS had printed them after all that has happened until now. */
static void store(struct written_row *rows, size_t n)
{
	const struct written written = {rows, n, .at = now_us() + 1, .time = 77};

	written_store(&orders, &written);
}

static void store_one(const char *bookmark, int64_t bytes)
{
	struct written_row row = {bookmark, bytes};

	store(&row, 1);
}

static void store_nothing(void)
{
	store(NULL, 0);
}

/* Returns the only order, after its push has brought the copy up to date. */
static struct order *complete(int64_t due)
{
	follow_one(LINEAGE ":60:n1,n2");
	done(orders.rows[0], 5, due);
	return orders.rows[0];
}

/* End a push of the order, which brought the copy the snapshot `arrived`; 0: it brought none. */
static void push(struct order *order, uint64_t arrived)
{
	struct push ended = {.arena = &arena, .arrived = arrived};

	orders_refresh(&orders, order, &ended);
	order_learn(order, &ended);
}

static void fail_push(struct order *order)
{
	struct error err = {ERR_UNAVAILABLE, "away"};

	quiet();
	order_failed(order, &err, now_ms() + 30000);
}

static bool is_asked(void)
{
	return *written_nodes(&orders, &arena);
}

static void output_without_numbers_is_ignored(void **state)
{
	char text[] = "t/p\twritten#_repl-n2\t-\n"
		      "t/p/v\twritten#_repl-n3\t18014398509481984\n"
		      "t/p/v\twritten#_repl-n2\t0\n"
		      "t/p/w\twritten#_repl-n2\t-\n"
		      "t/p/w\twritten#_repl-n3\t12K\n"
		      "t/p/w\twritten\t4096\n"
		      "t/p/w\n"
		      "\t\t\n"
		      "t/p/w\twritten#_repl-n4\t-1\n"
		      "t/p/w\twritten#_repl-n5\t\n";
	struct written written = {.n = 9};

	(void)state;
	written_parse(&arena, text, &written);
	assert_int_equal(written.n, 2);
	assert_int_equal(written_bytes(&written, "t/p/v", "n2"), 0);
	assert_int_equal(written_bytes(&written, "t/p/v", "n3"), 18014398509481984);
	for (int i = 2; i < 6; i++)
		assert_int_equal(written_bytes(&written, "t/p/w", arena_printf(&arena, "n%d", i)),
				 -1);
	char nothing[] = "";
	written_parse(&arena, nothing, &written);
	assert_int_equal(written_bytes(&written, "t/p/v", "n2"), -1);
}

static void a_copy_that_lacks_nothing_is_skipped(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2,n3");
	assert_false(is_asked()); /* a copy may lack a snapshot, so each is pushed to */
	done(orders.rows[0], 5, now_ms());
	done(orders.rows[1], 5, now_ms());
	const char *const *nodes = written_nodes(&orders, &arena);
	assert_string_equal(nodes[0], "n2");
	assert_string_equal(nodes[1], "n3");
	assert_null(nodes[2]);
	store_one(N2, 0);
	assert_true(orders.rows[0]->synced == 77 && orders.rows[0]->due > now_ms());
	assert_true(orders.rows[1]->synced == 5);
	assert_ptr_equal(orders_first(&orders, now_ms()), orders.rows[1]);
}

/* A look at ZFS serves copies that are due later, too; else each volume would need its own look. */
static void a_single_look_measures_copies_that_are_not_due(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2,n3");
	int64_t later = now_ms() + 1000;
	done(orders.rows[0], 5, later);
	done(orders.rows[1], 5, later);
	assert_false(is_asked());
	orders.rows[0]->due = 0;
	assert_string_equal(written_nodes(&orders, &arena)[1], "n3");
	store_nothing();
	assert_true(orders.rows[1]->synced == 5 && orders.rows[1]->due == later);
	assert_false(orders.rows[1]->lacks);
	store_one(N3, 0);
	assert_true(orders.rows[1]->synced == 77 && orders.rows[1]->due > later);
}

static void a_new_snapshot_is_a_reason_to_push(void **state)
{
	struct dataset *row = volume("t/p/v", LINEAGE ":60:n1,n2");

	(void)state;
	follow(&row, 1);
	done(orders.rows[0], 5, now_ms() - 1);
	assert_true(is_asked());
	marks[0]++;
	follow(&row, 1);
	assert_false(is_asked());
	assert_ptr_equal(orders_first(&orders, now_ms()), orders.rows[0]);
}

static void a_paused_copy_is_measured_and_not_skipped(void **state)
{
	struct dataset *row = volume("t/p/v", LINEAGE ":60:n1,n2");
	size_t n;

	(void)state;
	const struct order *order = complete(now_ms());
	row->push = (char *)"paused";
	follow(&row, 1);
	assert_true(orders_are_paused(&orders, "v") &&
		    orders_show(&orders, NULL, &arena, &n)->paused);
	assert_false(orders_are_paused(&orders, "w"));
	assert_false(is_asked());
	store_one(N2, 0);
	assert_true(order->synced == 5 && order->unsent == 0);
	store_one(N2, 4096);
	assert_int_equal(orders_show(&orders, NULL, &arena, &n)->unsent, 4096);
}

/*
 * An order that failed is due each time that it is tried again: that is no reason to ask ZFS each
 * time.
 */
static void a_copy_that_fails_is_measured_as_often_as_it_may_be_behind(void **state)
{
	(void)state;
	struct order *order = complete(now_ms());
	fail_push(order);
	store_one(N2, 4096);
	assert_true(order->unsent == 4096 && order->synced == 5 && !order->lacks);
	order->due = now_ms();
	assert_false(is_asked());
	fail_push(order);
	push(order, 0);
	assert_int_equal(order->unsent, 4096);
	assert_int_equal(written_look_at(&orders), order->measured + 60000);
	order->measured -= 60000;
	assert_true(is_asked());
	store_one(N2, 8192);
	assert_int_equal(order->unsent, 8192);
	assert_false(is_asked());
}

static void a_copy_that_got_data_is_measured_soon(void **state)
{
	(void)state;
	struct order *order = complete(now_ms() + 60000);
	store_one(N2, 4096);
	push(order, 9);
	assert_int_equal(order->unsent, -1);
	assert_false(is_asked());
	orders.looked -= 10000;
	assert_true(is_asked());
	store_one(N2, 512);
	assert_int_equal(order->unsent, 512);
	assert_false(is_asked());
}

/*
 * An answer of ZFS from before the copy's newest snapshot, or before a move's push, does not count.
 */
static void an_answer_about_an_earlier_snapshot_is_not_taken(void **state)
{
	struct written_row row = {N2, 4096};
	struct written written = {&row, 1, .at = now_us()};

	(void)state;
	struct order *order = complete(now_ms() + 60000);
	push(order, 9);
	written_store(&orders, &written);
	assert_true(order->unsent == -1 && !order->measured);
	written.at = now_us() + 1;
	written_store(&orders, &written);
	assert_int_equal(order->unsent, 4096);
	orders_forget(&orders, "t/p/v", "n2");
	assert_int_equal(order->unsent, -1);
}

static void an_unknown_size_stays_unknown(void **state)
{
	size_t n;

	(void)state;
	follow_one(LINEAGE ":60:n1,n2");
	assert_int_equal(orders_show(&orders, NULL, &arena, &n)->unsent, -1);
	/* A copy that is not complete has no bookmark, and is no reason to ask. */
	orders.looked = 0;
	assert_false(is_asked());
	struct order *order = complete(now_ms() + 60000);
	store_one(N2, 4096);
	store_nothing();
	assert_true(order->unsent == -1 && order->measured);
	store_one(N2, 4096);
	follow_one(LINEAGE ":60:n1:n2");
	assert_true(order->owed && order->unsent == -1);
	orders.looked = 0;
	assert_false(is_asked());
}

static void a_thousand_idle_volumes_take_a_single_program(void **state)
{
	static struct dataset *rows[1000];
	static struct written_row zeros[COUNT(rows)];
	static uint64_t no_marks[COUNT(rows)];
	const struct dataset_list volumes = {rows, COUNT(rows)};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		rows[i] = volume(arena_printf(&arena, "t/p/v%03zu", i), LINEAGE ":60:n1,n2");
		zeros[i].bookmark = arena_printf(&arena, "t/p/v%03zu#_repl-n2", i);
	}
	orders_follow(&orders, "n1", &volumes, no_marks);
	for (size_t i = 0; i < COUNT(rows); i++)
		done(orders.rows[i], 5, now_ms() + (int64_t)i);
	store(zeros, COUNT(rows));
	assert_false(is_asked());
	assert_int_equal(written_look_at(&orders), orders.looked + 60000);
	assert_int_equal(orders_first(&orders, NO_DEADLINE)->due, orders.looked + 60000);
	/* The pushes of half of the volumes fail, and are tried again one after the other. */
	for (size_t i = 0; i < COUNT(rows); i += 2) {
		fail_push(orders.rows[i]);
		orders.rows[i]->due = now_ms();
	}
	assert_false(is_asked());
	assert_int_equal(written_look_at(&orders), orders.looked + 60000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(output_without_numbers_is_ignored),
		TEST(a_copy_that_lacks_nothing_is_skipped),
		TEST(a_single_look_measures_copies_that_are_not_due),
		TEST(a_new_snapshot_is_a_reason_to_push),
		TEST(a_paused_copy_is_measured_and_not_skipped),
		TEST(a_copy_that_fails_is_measured_as_often_as_it_may_be_behind),
		TEST(a_copy_that_got_data_is_measured_soon),
		TEST(an_answer_about_an_earlier_snapshot_is_not_taken),
		TEST(an_unknown_size_stays_unknown),
		TEST(a_thousand_idle_volumes_take_a_single_program),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
