/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of what the orders of the pusher show of the copies. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_orders.c */
#include "tests/unit/node/scripted_orders.c"

#include <sys/mman.h>
#include <unistd.h>

static void synced_never_goes_back(void **state)
{
	(void)state;
	follow_one(LINEAGE ":60:n1,n2");
	done(orders.rows[0], 9, 0);
	done(orders.rows[0], 5, 0);
	assert_true(orders.rows[0]->synced == 9);
}

static void a_failure_is_shown_until_the_next_success(void **state)
{
	struct error err = {ERR_UNAVAILABLE, "away"};
	size_t n;

	(void)state;
	quiet();
	follow_one(LINEAGE ":60:n1,n2");
	order_failed(orders.rows[0], &err, now_ms() + 1000);
	assert_null(orders_first(&orders, now_ms()));
	const struct pushed *shown = orders_show(&orders, NULL, &arena, &n);
	assert_int_equal(n, 1);
	assert_string_equal(shown->error, "away");
	assert_true(shown->failed > 0);
	done(orders.rows[0], 5, 0);
	assert_string_equal(orders_show(&orders, NULL, &arena, &n)->error, "");
}

/* Let a push fail with a text. Returns what the failure writes to the log, until the next call. */
static const char *logged(struct order *order, const char *text)
{
	static char lines[1000];
	auto_close int saved = dup(STDERR_FILENO), file = memfd_create("stderr", MFD_CLOEXEC);
	struct error err;

	fail(&err, ERR_UNAVAILABLE, "%s", text);
	assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
	order_failed(order, &err, now_ms() + 1000);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	ssize_t n = pread(file, lines, sizeof(lines) - 1, 0);
	assert_true(n >= 0);
	lines[n] = '\0';
	return lines;
}

static void a_failure_is_logged_when_it_begins_and_when_it_changes(void **state)
{
	static const char full[] = "the pool of node n2 has room for 1.00M: make room there";
	static const char line[] =
		"level=warn msg=\"copy is not up to date\" volume=v node=n2 "
		"error=\"the pool of node n2 has room for 1.00M: make room there\"\n";
	struct error err;

	(void)state;
	assert_int_equal(log_setup("info", "logfmt", &err), 0);
	follow_one(LINEAGE ":60:n1,n2");
	struct order *order = orders.rows[0];
	assert_non_null(strstr(logged(order, full), line));
	for (int repeats = 0; repeats < 3; repeats++)
		assert_string_equal(logged(order, full), "");
	assert_non_null(strstr(logged(order, "away"), "error=away\n"));
	assert_non_null(strstr(logged(order, full), line));
	done(order, 5, 0);
	assert_non_null(strstr(logged(order, full), line));
}

static void the_copies_of_one_dataset_are_shown(void **state)
{
	struct dataset *rows[] = {volume("t/p/v", LINEAGE ":60:n1,n2,n3"),
				  volume("t/p/w", LINEAGE ":60:n1,n2"),
				  volume("t/p/_trash/v-1", LINEAGE ":60:n1,n2")};
	size_t n;

	(void)state;
	follow(rows, COUNT(rows));
	const struct pushed *shown = orders_show(&orders, "t/p/v", &arena, &n);
	assert_int_equal(n, 2);
	assert_string_equal(shown[0].to, "n2");
	assert_string_equal(shown[1].to, "n3");
	assert_false(shown[0].deleted);
	orders_show(&orders, "t/p/u", &arena, &n);
	assert_int_equal(n, 0);
	orders_show(&orders, NULL, &arena, &n);
	assert_int_equal(n, 4);
}

static void a_copy_is_known_once_it_was_looked_up(void **state)
{
	struct error err = {ERR_UNAVAILABLE, "away"};
	size_t n;

	(void)state;
	quiet();
	follow_one(LINEAGE ":60:n1,n2");
	assert_false(orders_show(&orders, NULL, &arena, &n)->known);
	order_known(orders.rows[0], 7);
	order_failed(orders.rows[0], &err, now_ms() + 1000);
	const struct pushed *shown = orders_show(&orders, NULL, &arena, &n);
	assert_true(shown->known && shown->synced == 7 && shown->failed);
	order_known(orders.rows[0], 0);
	assert_true(orders.rows[0]->synced == 7);
}

static void the_progress_of_a_push_that_runs_is_shown(void **state)
{
	size_t n;

	(void)state;
	follow_one(LINEAGE ":60:n1,n2");
	struct order *order = orders.rows[0];
	order->progress.total = 40;
	order->progress.sent = 12;
	order->running = true;
	assert_int_equal(orders_show(&orders, NULL, &arena, &n)->total,
			 0); /* no stream has begun */
	order->progress.begun = now_ms() - 5000;
	const struct pushed *shown = orders_show(&orders, NULL, &arena, &n);
	assert_int_equal(shown->total, 40);
	assert_int_equal(shown->sent, 12);
	assert_true(shown->sending_ms >= 5000);
	order->running = false;
	assert_int_equal(orders_show(&orders, NULL, &arena, &n)->sending_ms, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(synced_never_goes_back),
		TEST(a_failure_is_shown_until_the_next_success),
		TEST(a_failure_is_logged_when_it_begins_and_when_it_changes),
		TEST(the_copies_of_one_dataset_are_shown),
		TEST(a_copy_is_known_once_it_was_looked_up),
		TEST(the_progress_of_a_push_that_runs_is_shown),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
