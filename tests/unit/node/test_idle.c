/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the threads that work in rounds: when they have nothing to do until the catalog changes.
 * The test calls the rounds itself, and there is no thread.
 */
#include <string.h>

#include "common/log.h"
#include "node/backup/backups.h"
#include "node/backup/stored.h"
#include "node/backup/verify.h"
#include "node/replica/held.h"
#include "node/stream/rounds.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

static struct node node = {.id = "n1"};
static struct loop *loop;
static struct error err;
static struct rounds_work work; /* of the thread that was started last */
static size_t n_backups;        /* of this host */
static bool unreadable;         /* the backups cannot be read */

typeof(rounds_start) __wrap_rounds_start;
typeof(rounds_soon) __wrap_rounds_soon;
typeof(rounds_stopping) __wrap_rounds_stopping;
typeof(rounds_stop) __wrap_rounds_stop;
typeof(held_possible) __wrap_held_possible;
typeof(verify_run) __wrap_verify_run;
typeof(stored_read_all) __wrap_stored_read_all;

int __wrap_rounds_start(struct rounds **ret, const struct node *of, struct loop *on,
			const struct rounds_work *with, struct error *ret_err)
{
	(void)of, (void)on, (void)ret_err;
	*ret = NULL;
	work = *with;
	return 0;
}

void __wrap_rounds_soon(struct rounds *rounds)
{
	(void)rounds;
}

bool __wrap_rounds_stopping(struct rounds *rounds)
{
	(void)rounds;
	return false;
}

void __wrap_rounds_stop(struct rounds *rounds)
{
	(void)rounds;
}

bool __wrap_held_possible(void)
{
	return true;
}

int __wrap_verify_run(const struct node *of, struct rounds *rounds, const char *id,
		      struct error *ret_err)
{
	(void)of, (void)rounds, (void)id, (void)ret_err;
	return 0;
}

int __wrap_stored_read_all(struct arena *at, const char *parent, struct stored_list *ret,
			   struct error *ret_err)
{
	(void)parent;
	if (unreadable)
		return fail(ret_err, ERR_UNAVAILABLE, "a zfs is hung");
	ret->rows = arena_alloc(at, (n_backups + 1) * sizeof(*ret->rows));
	for (ret->n = 0; ret->n < n_backups; ret->n++) {
		ret->rows[ret->n] = new_backup_state(at);
		ret->rows[ret->n]->id = (char *)"v";
	}
	return 0;
}

static bool is_idle_after_a_round(void)
{
	return work.round(NULL, work.arg, false) == ROUNDS_IDLE;
}

static int set_up(void **state)
{
	n_backups = 0;
	unreadable = false;
	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	assert_int_equal(loop_new(&loop, &err), 0);
	node.catalog = catalog_new("t/p", 0);
	return arena_setup(state);
}

static int tear_down(void **state)
{
	catalog_free(node.catalog);
	loop_free(loop);
	return arena_teardown(state);
}

static void the_thread_for_backups_is_idle_without_backups(void **state)
{
	const struct backup_task task = {.kind = BACKUP_VERIFY, .id = "v"};
	struct backups *backups;
	uint64_t number;

	(void)state;
	assert_int_equal(backups_start(&backups, &node, loop, &err), 0);
	unreadable = true;
	assert_false(is_idle_after_a_round());
	unreadable = false;
	assert_false(is_idle_after_a_round());
	assert_true(is_idle_after_a_round());
	/* The first backup is made, and cannot be read at once. */
	assert_int_equal(backups_add(backups, &task, &number, &err), 0);
	n_backups = 1;
	unreadable = true;
	assert_false(is_idle_after_a_round());
	unreadable = false;
	for (int i = 0; i < 2; i++)
		assert_false(is_idle_after_a_round());
	/* It was dropped. */
	n_backups = 0;
	assert_false(is_idle_after_a_round());
	assert_true(is_idle_after_a_round());
	backups_stop(backups);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_thread_for_backups_is_idle_without_backups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
