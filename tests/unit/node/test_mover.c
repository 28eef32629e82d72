/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the list of moves: a volume has one at a time, and the reason of a failure is kept. */
#include "node/move/depart.h"
#include "node/move/earlier.h"
#include "node/move/move_metrics.h"
#include "node/move/mover.h"

#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "tests/arena.h"
#include "tests/cmocka.h"

#include "common/clock.h"
#include "common/metrics.h"
#include "node/host/moves.h"
#include "transport/loop.h"

#define PATIENCE_MS 10000

static struct loop *loop;
static struct mover *mover;
static struct node node;
static struct error err;
static atomic_uint departed;
static sem_t gate;                 /* each move waits for this semaphore */
static const char *_Atomic refuse; /* why moves fail; NULL: moves succeed */

int __wrap_depart_run(struct depart *depart, struct error *ret_err);
int __wrap_depart_run(struct depart *depart, struct error *ret_err)
{
	(void)depart;
	departed++;
	sem_wait(&gate);
	return refuse ? fail(ret_err, ERR_UNAVAILABLE, "%s", refuse) : 0;
}

bool __wrap_earlier_may_be(void);
bool __wrap_earlier_may_be(void)
{
	return false;
}

static int set_up(void **state)
{
	arena_setup(state);
	sem_init(&gate, 0, 0);
	departed = 0;
	refuse = NULL;
	assert_int_equal(loop_new(&loop, &err), 0);
	node = (struct node){.id = "n1", .moves = moves_new()};
	assert_int_equal(mover_start(&mover, &node, loop, &err), 0);
	return 0;
}

static int tear_down(void **state)
{
	for (unsigned i = 0; i < 8; i++)
		sem_post(&gate);
	mover_stop(mover);
	moves_free(node.moves);
	loop_free(loop);
	sem_destroy(&gate);
	return arena_teardown(state);
}

static const MoveState *only_move(void)
{
	size_t n;
	MoveState **moves = mover_list(mover, &arena, "v", &n);

	assert_int_equal(n, 1);
	return moves[0];
}

/* Let the move of the volume end. */
static const MoveState *end(void)
{
	int64_t limit = now_ms() + PATIENCE_MS;

	sem_post(&gate);
	while (only_move()->running && now_ms() < limit)
		poll(NULL, 0, 1);
	assert_false(only_move()->running);
	return only_move();
}

static void a_repeat_finds_the_move_that_runs(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(mover_begin(mover, "v", "n2", &err), 0);
	assert_true(mover_moves(mover, "v", "n2"));
	assert_int_equal(mover_begin(mover, "v", "n3", &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_string_equal(end()->error, "");
	assert_int_equal(departed, 1);
}

static void a_move_after_one_that_failed_has_its_reason(void **state)
{
	(void)state;
	refuse = "the pool is full";
	assert_int_equal(mover_begin(mover, "v", "n2", &err), 0);
	assert_string_equal(only_move()->failed_before, "");
	assert_string_equal(end()->error, "the pool is full");
	assert_int_equal(mover_begin(mover, "v", "n2", &err), 0);
	assert_string_equal(only_move()->error, "");
	assert_string_equal(only_move()->failed_before, "the pool is full");
	/* A move to another node may succeed, so it shows no earlier failure. */
	end();
	assert_int_equal(mover_begin(mover, "v", "n3", &err), 0);
	assert_string_equal(only_move()->failed_before, "");
	end();
}

static void a_move_after_one_that_ended_well_has_no_reason(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(mover_begin(mover, "v", "n2", &err), 0);
		assert_string_equal(only_move()->failed_before, "");
		end();
	}
	assert_int_equal(departed, 2);
}

static char *metrics(void)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	move_metrics_write(mover, out);
	fclose(out);
	char *copy = arena_strdup(&arena, text);
	free(text);
	return copy;
}

static void moves_are_counted(void **state)
{
	(void)state;
	metrics_enable();
	assert_int_equal(mover_begin(mover, "v", "n2", &err), 0);
	assert_non_null(strstr(metrics(), "zcsi_moves{volume_is=\"here\"} 1\n"));
	assert_non_null(strstr(metrics(), "zcsi_moves{volume_is=\"nowhere\"} 0\n"));
	end();
	assert_non_null(strstr(metrics(), "zcsi_moves{volume_is=\"here\"} 0\n"));
	assert_non_null(strstr(metrics(), "_seconds_count{outcome=\"ok\"} 1\n"));
	refuse = "the pool is full";
	assert_int_equal(mover_begin(mover, "v", "n2", &err), 0);
	end();
	assert_non_null(strstr(metrics(), "_seconds_count{outcome=\"failed\"} 1\n"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_repeat_finds_the_move_that_runs),
		TEST(a_move_after_one_that_failed_has_its_reason),
		TEST(a_move_after_one_that_ended_well_has_no_reason),
		TEST(moves_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
