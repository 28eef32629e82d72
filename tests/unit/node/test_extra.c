/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the copies that a volume which follows its workload anywhere leaves behind: which of
 * them are dropped, and when.
 */
#include <string.h>

#include "common/clock.h"
#include "node/copy/written.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"

static struct order_list orders;

static int set_up(void **state)
{
	(void)state;
	orders = (struct order_list){.n = 0};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	orders_fini(&orders);
	return 0;
}

static void done(struct order *order)
{
	const struct synced now = {wall_us(), order->mark, now_us()};

	order_done(order, &now, now_ms());
}

/* Make orders of a volume that has moved to this host from n2, and before that from n3 to n2. */
static struct order *follow_moved(const char *push)
{
	struct dataset moved = {.id = (char *)"v",
				.name = (char *)"t/p/v",
				.members = (char *)LINEAGE ":60:n3,n2,n1",
				.push = (char *)push,
				.format = format_find(FORMAT_ZFS)};
	struct dataset *rows[] = {dataset_copy(&arena, &moved)};
	const struct dataset_list volumes = {rows, 1};
	const uint64_t mark = 1;

	orders_follow(&orders, "n1", &volumes, &mark);
	assert_int_equal(orders.n, 2);
	return orders.rows[1];
}

static void the_copy_that_is_extra_is_the_earliest_one(void **state)
{
	(void)state;
	struct order *n3 = follow_moved("nodes=2"), *n2 = orders.rows[0];
	assert_true(n3->extra && !n2->extra);
	follow_moved("nodes=1");
	assert_true(n3->extra && n2->extra);
	follow_moved("nodes=3");
	assert_false(n3->extra || n2->extra);
	follow_moved("");
	assert_false(n3->extra || n2->extra);
}

static void an_extra_copy_goes_when_the_others_are_current(void **state)
{
	(void)state;
	struct written_row rows[] = {{"t/p/v#_repl-n2", 0}, {"t/p/v#_repl-n3", 0}};
	const struct written nothing = {rows, COUNT(rows), .at = now_us()};
	struct order *n3 = follow_moved("nodes=2"), *n2 = orders.rows[0];
	done(n2);
	done(n3);
	assert_false(orders_drop(&orders, n3)); /* the workload may return to n3 */
	n2->since = n3->since = now_ms() - 60000;
	assert_true(orders_drop(&orders, n3));
	assert_false(orders_drop(&orders, n2));
	/* A copy that is extra gets a push although it lacks nothing. */
	written_store(&orders, &nothing);
	assert_true(n2->due > now_ms() && n3->due <= now_ms());
	n2->failed = 1;
	assert_false(orders_drop(&orders, n3));
	n2->failed = 0;
	n2->synced = wall_us() - 130 * 1000000;
	assert_false(orders_drop(&orders, n3));
	n2->synced = wall_us();
	follow_moved("paused,nodes=2");
	assert_false(orders_drop(&orders, n3));
}

static void a_copy_is_no_condition_if_none_is_to_stay(void **state)
{
	(void)state;
	struct order *n3 = follow_moved("nodes=1"), *n2 = orders.rows[0];
	done(n2);
	done(n3);
	n2->since = n3->since = now_ms() - 60000;
	assert_true(orders_drop(&orders, n2) && orders_drop(&orders, n3));
}

static void a_copy_that_a_move_makes_is_not_dropped(void **state)
{
	(void)state;
	struct order *n3 = follow_moved("nodes=2"), *n2 = orders.rows[0];
	done(n2);
	n3->since = 0;
	assert_false(orders_drop(&orders, n3));
	done(n3);
	assert_false(orders_drop(&orders, n3));
	n3->since = now_ms() - 60000;
	done(n3);
	assert_true(orders_drop(&orders, n3));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_copy_that_is_extra_is_the_earliest_one),
		TEST(an_extra_copy_goes_when_the_others_are_current),
		TEST(a_copy_is_no_condition_if_none_is_to_stay),
		TEST(a_copy_that_a_move_makes_is_not_dropped),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
