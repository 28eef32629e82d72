/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the listeners of the catalog, to which its changes are reported. */
#include "node/catalog/listener.h"

#include "common/thread.h"
#include "node/catalog/catalog_inside.h"
#include "tests/cmocka.h"

struct counter {
	struct catalog_listener listener;
	unsigned n;
};

static struct catalog *catalog;
static struct loop *loop;
static struct loop_task stop;
static struct counter one, other;

static void count(struct catalog_listener *listener)
{
	container_of(listener, struct counter, listener)->n++;
}

static void stop_loop(struct loop_task *task)
{
	(void)task;
	loop_stop(loop);
}

/* Run the tasks that were posted to the loop until now. */
static void run_loop(void)
{
	stop.fn = stop_loop;
	loop_post(loop, &stop);
	loop_run(loop);
}

static void change(void)
{
	scoped_lock(&catalog->mutex);

	catalog_changed(catalog);
}

static int set_up(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(loop_new(&loop, &err), 0);
	catalog = catalog_new("t/p", 0);
	catalog_listen(catalog, &one.listener, loop, count);
	catalog_listen(catalog, &other.listener, loop, count);
	one.n = other.n = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	catalog_free(catalog);
	loop_free(loop);
	return 0;
}

static void changes_that_come_together_are_reported_once(void **state)
{
	(void)state;
	change();
	change();
	assert_int_equal(one.n, 0); /* nothing is reported before the loop runs */
	run_loop();
	assert_int_equal(one.n, 1);
	assert_int_equal(other.n, 1);
	change();
	run_loop();
	assert_int_equal(one.n, 2);
}

static void a_removed_listener_is_not_called(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		catalog_unlisten(catalog, &one.listener); /* also if `one` is no listener */
		change();
		run_loop();
	}
	assert_int_equal(one.n, 0);
	assert_int_equal(other.n, 2);
	catalog_unlisten(catalog, &other.listener);
	change();
	run_loop();
	assert_int_equal(other.n, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(changes_that_come_together_are_reported_once),
		TEST(a_removed_listener_is_not_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
