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

static uint64_t add_task(const struct backup_task *task)
{
	struct error err;
	uint64_t number = 0;

	return queue_add(queue, task, &number, &err) == 0 ? number : 0;
}

static uint64_t add(const char *id)
{
	return add_task(&(struct backup_task){.kind = BACKUP_VERIFY, .id = id});
}

static uint64_t add_run(const char *id)
{
	return add_task(&(struct backup_task){.kind = BACKUP_RUN, .id = id});
}

static void end(enum error_code code)
{
	struct backup_task task;

	assert_true(queue_next(queue, &task));
	task.error.code = code;
	strcpy(task.error.text, code == ERR_OK ? "" : "it failed");
	queue_end(queue, &task);
}

static bool is_busy(const char *id)
{
	return queue_busy(queue, id);
}

static const char *failure(const char *id, enum backup_task_kind kind)
{
	return queue_failure(queue, &arena, id, kind);
}

static void tasks_are_done_in_order(void **state)
{
	struct backup_task task;

	(void)state;
	assert_false(queue_next(queue, &task));
	uint64_t first = add("a"), second = add("b");
	assert_true(queue_next(queue, &task));
	assert_string_equal(task.id, "a");
	assert_string_equal(task.keep, "");
	assert_true(is_busy("a") && is_busy("b") && !is_busy("c"));
	end(ERR_UNAVAILABLE);
	assert_false(is_busy("a"));
	assert_true(queue_find(queue, first, &task) && task.ended);
	assert_true(queue_find(queue, second, &task) && !task.ended);
	assert_false(queue_find(queue, second + 1, &task));
}

/* Add a task of this kind for volume "a", and end it with this result. */
static void do_task(enum backup_task_kind kind, enum error_code code, const char *text, bool idle)
{
	struct backup_task task = {.kind = kind, .id = "a"};

	assert_true(add_task(&task));
	assert_true(queue_next(queue, &task));
	task.idle = idle;
	task.error.code = code;
	strcpy(task.error.text, text);
	queue_end(queue, &task);
}

static void a_failure_is_kept_until_the_same_kind_of_task_succeeds(void **state)
{
	(void)state;
	do_task(BACKUP_VERIFY, ERR_INTERNAL, "checksum", false);
	do_task(BACKUP_RUN, ERR_OK, "", false);
	assert_string_equal(failure("a", BACKUP_VERIFY), "checksum");
	assert_null(failure("a", BACKUP_RUN));
	do_task(BACKUP_RUN, ERR_UNAVAILABLE, "silent", false);
	do_task(BACKUP_VERIFY, ERR_OK, "", false);
	assert_string_equal(failure("a", BACKUP_RUN), "silent");
	assert_null(failure("a", BACKUP_VERIFY));
	do_task(BACKUP_RUN, ERR_OK, "", true);
	assert_string_equal(failure("a", BACKUP_RUN), "silent");
	do_task(BACKUP_RUN, ERR_UNAVAILABLE, "still silent", false);
	assert_string_equal(failure("a", BACKUP_RUN), "still silent");
	assert_null(failure("b", BACKUP_RUN));
	for (size_t i = 0; i < MOST; i++) {
		add("b");
		end(ERR_OK);
	}
	assert_string_equal(failure("a", BACKUP_RUN), "still silent");
	do_task(BACKUP_RUN, ERR_OK, "", false);
	assert_null(failure("a", BACKUP_RUN));
}

static void a_restore_does_not_change_the_failure_of_the_backup(void **state)
{
	(void)state;
	do_task(BACKUP_RESTORE, ERR_NOT_FOUND, "no such snapshot", false);
	assert_null(failure("a", BACKUP_RESTORE));
	assert_null(failure("a", BACKUP_RUN));
	do_task(BACKUP_RUN, ERR_UNAVAILABLE, "silent", false);
	do_task(BACKUP_RESTORE, ERR_OK, "", false);
	assert_string_equal(failure("a", BACKUP_RUN), "silent");
}

static void a_dropped_backup_has_no_failure(void **state)
{
	(void)state;
	do_task(BACKUP_RUN, ERR_UNAVAILABLE, "silent", false);
	do_task(BACKUP_VERIFY, ERR_INTERNAL, "checksum", false);
	queue_forget(queue, "b");
	assert_non_null(failure("a", BACKUP_RUN));
	queue_forget(queue, "a");
	assert_null(failure("a", BACKUP_RUN));
	assert_null(failure("a", BACKUP_VERIFY));
}

static void a_run_is_not_repeated_at_once(void **state)
{
	(void)state;
	assert_false(queue_tried(queue, "a", 60000));
	add_run("a");
	assert_true(queue_tried(queue, "a", 0));
	end(ERR_UNAVAILABLE);
	assert_true(queue_tried(queue, "a", 60000));
	assert_false(queue_tried(queue, "a", 0));
	assert_false(queue_tried(queue, "b", 60000));
}

static void a_run_that_waits_is_not_added_again(void **state)
{
	struct backup_task task = {.kind = BACKUP_RUN, .id = "a"};

	(void)state;
	uint64_t first = add_run("b"), second = add_task(&task);
	assert_int_equal(add_task(&task), second);
	assert_int_equal(add_run("b"), first);
	assert_true(queue_next(queue, &task));
	assert_string_equal(task.id, "b");
	assert_int_not_equal(add_run("b"), first); /* the running task sends older data */
	task = (struct backup_task){.kind = BACKUP_RUN, .id = "a", .from = "", .keep = ""};
	assert_int_equal(add_task(&task), second);
	task.keep = "daily=1";
	assert_int_not_equal(add_task(&task), second);
	task = (struct backup_task){.kind = BACKUP_RUN, .id = "a", .add = true};
	assert_int_not_equal(add_task(&task), second);
	task = (struct backup_task){.kind = BACKUP_VERIFY, .id = "a"};
	assert_int_not_equal(add_task(&task), second);
}

static void numbers_are_not_those_of_an_earlier_queue(void **state)
{
	struct backup_task task;

	(void)state;
	uint64_t earlier = add("a");
	queue_free(queue);
	queue = queue_new();
	add("b");
	assert_false(queue_find(queue, earlier, &task));
}

static void a_full_queue_refuses_tasks(void **state)
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

/* If runs with different rules (every, keep) are added, the rules of the last one hold. */
static void a_run_with_earlier_rules_is_added_again(void **state)
{
	struct backup_task task = {.kind = BACKUP_RUN, .id = "v", .add = true, .every = 6};

	(void)state;
	uint64_t first = add_task(&task);
	task.every = 24;
	uint64_t second = add_task(&task);
	assert_int_not_equal(second, first);
	assert_int_equal(add_task(&task), second);
	task.every = 6;
	assert_true(add_task(&task) > second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tasks_are_done_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_failure_is_kept_until_the_same_kind_of_task_succeeds, setup, teardown),
		cmocka_unit_test_setup_teardown(a_restore_does_not_change_the_failure_of_the_backup,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_dropped_backup_has_no_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(a_run_is_not_repeated_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_run_that_waits_is_not_added_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_run_with_earlier_rules_is_added_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(numbers_are_not_those_of_an_earlier_queue, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_full_queue_refuses_tasks, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
