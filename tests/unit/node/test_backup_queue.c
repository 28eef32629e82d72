/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the queue of tasks for backups.
 */
#include "node/backup/queue.h"

#include <string.h>

#include "tests/arena.h"
#include "tests/cmocka.h"

#define MOST 1024

static struct queue *queue;

static int setup(void **state)
{
	queue = queue_new();
	return arena_setup(state);
}

static int teardown(void **state)
{
	queue_free(queue);
	return arena_teardown(state);
}

static uint64_t add(const char *id)
{
	const struct backup_task task = {.kind = BACKUP_RUN, .id = id};
	struct error err;
	uint64_t number = 0;

	return queue_add(queue, &task, &number, &err) == 0 ? number : 0;
}

static void end(enum error_code code)
{
	struct backup_task task;

	assert_true(queue_next(queue, &task));
	task.error.code = code;
	strcpy(task.error.text, code == ERR_OK ? "" : "it failed");
	queue_end(queue, &task);
}

static bool is_busy(const char *id, const char **ret_error)
{
	return queue_busy(queue, &arena, id, ret_error);
}

static void test_tasks_are_done_in_order(void **state)
{
	struct backup_task task;
	const char *error;

	(void)state;
	assert_false(queue_next(queue, &task));
	uint64_t first = add("a"), second = add("b");
	assert_true(queue_next(queue, &task));
	assert_string_equal(task.id, "a");
	assert_string_equal(task.keep, "");
	assert_true(is_busy("a", &error) && is_busy("b", &error) && !is_busy("c", &error));
	end(ERR_UNAVAILABLE);
	assert_false(is_busy("a", &error));
	assert_string_equal(error, "it failed");
	assert_true(queue_failed(queue, "a", BACKUP_RUN));
	assert_false(queue_failed(queue, "a", BACKUP_VERIFY));
	assert_false(queue_failed(queue, "b", BACKUP_RUN));
	assert_true(queue_find(queue, first, &task) && task.ended);
	assert_true(queue_find(queue, second, &task) && !task.ended);
	assert_false(queue_find(queue, second + 1, &task));
	end(ERR_OK);
	add("a");
	end(ERR_OK);
	is_busy("a", &error);
	assert_string_equal(error, "");
	assert_false(queue_failed(queue, "a", BACKUP_RUN));
}

static void test_a_run_is_not_repeated_at_once(void **state)
{
	(void)state;
	assert_false(queue_tried(queue, "a", 60000));
	add("a");
	assert_true(queue_tried(queue, "a", 0));
	end(ERR_UNAVAILABLE);
	assert_true(queue_tried(queue, "a", 60000));
	assert_false(queue_tried(queue, "a", 0));
	assert_false(queue_tried(queue, "b", 60000));
}

static void test_the_queue_has_an_end(void **state)
{
	struct backup_task task;

	(void)state;
	uint64_t first = add("a");
	for (size_t i = 1; i < MOST; i++)
		assert_true(add("b"));
	assert_false(add("c"));
	end(ERR_OK);
	assert_true(add("c"));
	assert_false(add("d"));
	assert_false(queue_find(queue, first, &task));
	for (size_t i = 0; i < MOST; i++)
		end(ERR_OK);
	assert_false(queue_next(queue, &task));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tasks_are_done_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_run_is_not_repeated_at_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_queue_has_an_end, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
