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
#include "node/catalog/catalog.h"
#include "node/change/detach_end.h"
#include "node/change/swap.h"
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
static const struct earlier earlier[] = {{.leaf = "w", .why = "look at 't/p/_replica/w'"},
					 {.id = "v", .to = "n2"}};
static size_t n_earlier; /* how many of these are found at the start */

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
	return n_earlier;
}

/* The functions that look for the work of an earlier zcsi-node. There are moves only. */

typeof(catalog_page) __wrap_catalog_page;
typeof(swap_finish_earlier) __wrap_swap_finish_earlier;
typeof(detach_end_earlier) __wrap_detach_end_earlier;
typeof(earlier_read) __wrap_earlier_read;
typeof(earlier_show) __wrap_earlier_show;

int __wrap_catalog_page(struct catalog *catalog, int64_t deadline, struct arena *at,
			const char *after, size_t max, struct dataset_list *ret, bool *ret_more,
			struct error *ret_err)
{
	(void)catalog, (void)deadline, (void)at, (void)after, (void)max, (void)ret;
	(void)ret_more, (void)ret_err;
	return 0;
}

int __wrap_swap_finish_earlier(struct catalog *catalog, struct arena *at, int64_t deadline,
			       struct error *ret_err)
{
	(void)catalog, (void)at, (void)deadline, (void)ret_err;
	return 0;
}

int __wrap_detach_end_earlier(const struct node *of, struct arena *at, int64_t deadline,
			      struct error *ret_err)
{
	(void)of, (void)at, (void)deadline, (void)ret_err;
	return 0;
}

int __wrap_earlier_read(struct arena *at, const char *parent, struct earlier **ret, size_t *ret_n,
			struct error *ret_err)
{
	(void)parent, (void)ret_err;
	*ret = arena_alloc(at, sizeof(earlier));
	memcpy(*ret, earlier, sizeof(earlier));
	*ret_n = n_earlier;
	return 0;
}

int __wrap_earlier_show(struct arena *at, const char *parent, struct error *ret_err)
{
	(void)at, (void)parent, (void)ret_err;
	return 0;
}

static int set_up(void **state)
{
	arena_setup(state);
	sem_init(&gate, 0, 0);
	departed = 0;
	refuse = NULL;
	assert_int_equal(loop_new(&loop, &err), 0);
	node = (struct node){.id = "n1", .moves = moves_new(), .catalog = catalog_new("t/p", 0)};
	assert_int_equal(mover_start(&mover, &node, loop, &err), 0);
	return 0;
}

static int set_up_with_earlier(void **state)
{
	n_earlier = COUNT(earlier);
	return set_up(state);
}

static int tear_down(void **state)
{
	n_earlier = 0;
	for (unsigned i = 0; i < 8; i++)
		sem_post(&gate);
	mover_stop(mover);
	moves_free(node.moves);
	catalog_free(node.catalog);
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

/* A damaged record keeps neither the other moves from their end nor other volumes from calls. */
static void only_the_volume_of_a_damaged_record_is_closed(void **state)
{
	(void)state;
	assert_int_equal(moves_wait(node.moves, now_ms() + PATIENCE_MS, &err), 0);
	assert_int_equal(moves_check_missing(node.moves, "w", NO_DEADLINE, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "look at 't/p/_replica/w'"));
	assert_int_equal(moves_check_missing(node.moves, "x", NO_DEADLINE, &err), 0);
	assert_true(mover_moves(mover, "v", "n2"));
	assert_string_equal(end()->error, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_repeat_finds_the_move_that_runs),
		TEST(a_move_after_one_that_failed_has_its_reason),
		TEST(a_move_after_one_that_ended_well_has_no_reason),
		TEST(moves_are_counted),
		cmocka_unit_test_setup_teardown(only_the_volume_of_a_damaged_record_is_closed,
						set_up_with_earlier, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
