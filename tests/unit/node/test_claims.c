/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the claims of an agent: earlier and later claims of a name, and claims that were
 * evicted.
 */
#include "tests/cmocka.h"

#include <stdio.h>
#include <time.h>

#include "node/host/claims.h"
#include "node/zfs/lock_file.h"

#define SECOND  ((uint64_t)1000000 << 12)
#define DATASET "tests/claims"

static struct claims claims;
static struct claim_targets before;

static bool take(const char *id, uint64_t number, uint64_t *ret_promised)
{
	const struct claim claim = {.id = id, .number = number};

	return claims_take(&claims, &claim, ret_promised, &before);
}

/* Returns true if the id may be created for the claim. */
static bool holds(const char *id, uint64_t number)
{
	bool begun = claims_begin(&claims, id, number, 1);

	if (begun)
		claims_end(&claims, id);
	return begun;
}

/* the claim that the agent treats as promised for every name since its start */
static uint64_t first;

static void start(void)
{
	claims = (struct claims){.next = 0};
	assert_false(take("", 0, &first));
}

static int setup(void **state)
{
	(void)state;
	start();
	return 0;
}

static void only_the_latest_claim_is_held(void **state)
{
	uint64_t promised;

	(void)state;
	assert_false(holds("v", first + 5));
	assert_true(take("v", first + 5, &promised));
	assert_true(holds("v", first + 5));
	assert_true(take("v", first + 7, &promised));
	assert_false(holds("v", first + 5));
	assert_true(holds("v", first + 7));
	assert_false(holds("w", first + 7));
}

static void an_earlier_claim_is_refused_with_the_later_one(void **state)
{
	uint64_t promised = 0;

	(void)state;
	assert_true(take("v", first + 7, &promised));
	assert_false(take("v", first + 6, &promised));
	assert_int_equal(promised, first + 7);
	assert_false(take("v", first + 7, &promised));
	assert_true(take("w", first + 6, &promised));
	assert_true(holds("v", first + 7));
}

/* Claims do not survive a reboot. After one, no claim is granted that an earlier process may have
 * refused. */
static void a_boot_covers_what_was_promised_before(void **state)
{
	uint64_t now = (uint64_t)time(NULL) * SECOND, promised = 0;

	(void)state;
	assert_false(take("v", now, &promised));
	assert_false(take("v", now + 30 * SECOND, &promised));
	assert_true(promised >= now + 30 * SECOND);
	assert_true(take("v", promised + 1, &promised));
}

/* A new process starts above the highest claim of the previous one, even if that claim was far in
 * the future and the restart was immediate. */
static void a_start_covers_what_was_promised_before(void **state)
{
	uint64_t ahead = first + 3600 * SECOND, promised;
	struct error err;

	(void)state;
	need_root();
	assert_int_equal(lock_file_open(DATASET, &err), 0);
	assert_int_equal(lock_file_keep(0), 0);
	start();
	assert_true(take("v", ahead, &promised));
	assert_true(take("w", ahead - 1, &promised));
	lock_file_close();
	assert_int_equal(lock_file_open(DATASET, &err), 0);
	start();
	assert_int_equal(first, ahead);
	lock_file_close();
}

static void evicted_claims_still_refuse_earlier_ones(void **state)
{
	uint64_t promised;
	char id[16];

	(void)state;
	for (uint64_t i = 1; i <= CLAIMS_MAX + 10; i++) {
		snprintf(id, sizeof(id), "v%d", (int)i);
		assert_true(take(id, first + i, &promised));
	}
	assert_false(holds("v10", first + 10));
	assert_true(holds("v11", first + 11));
	assert_false(take("v10", first + 9, &promised));
	assert_int_equal(promised, first + 10);
}

/* Promise the id to a claim for that node. */
static void take_for(const char *id, uint64_t number, uint64_t node)
{
	const struct claim claim = {.id = id, .number = number, .target = node, .name = number};
	uint64_t promised;

	assert_true(claims_take(&claims, &claim, &promised, &before));
}

/* Returns the claim that was reported for the node; 0 if there is none. */
static uint64_t reported(uint64_t node)
{
	uint64_t found = 0;

	for (size_t i = 0; i < CLAIMS_TARGETS; i++)
		if (before.list[i].claim && before.list[i].node == node)
			found = before.list[i].claim;
	return found;
}

static void the_targets_of_earlier_claims_are_reported(void **state)
{
	(void)state;
	take_for("v", first + 1, 11);
	assert_int_equal(reported(11), 0);
	assert_int_equal(before.forgot, first);
	take_for("v", first + 2, 12);
	assert_int_equal(reported(11), first + 1);
	take_for("v", first + 3, 11);
	assert_int_equal(reported(12), first + 2);
	take_for("v", first + 4, 13);
	assert_int_equal(reported(11), first + 3);
	take_for("w", first + 5, 11);
	assert_int_equal(reported(11), 0);
}

static void targets_that_are_dropped_count_as_forgotten(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= CLAIMS_TARGETS + 2; i++)
		take_for("v", first + i, 10 + i);
	assert_int_equal(reported(11), 0);
	assert_int_equal(reported(12), first + 2);
	assert_int_equal(before.forgot, first + 1);
}

static void evicted_promises_count_as_forgotten(void **state)
{
	char id[16];

	(void)state;
	take_for("creating", first + 1, 1);
	assert_true(claims_begin(&claims, "creating", first + 1, 1));
	for (uint64_t i = 2; i <= CLAIMS_MAX + 2; i++) {
		snprintf(id, sizeof(id), "v%d", (int)i);
		take_for(id, first + i, 11);
	}
	assert_int_equal(before.forgot, first + 3);
	assert_int_equal(claims.list[0].creations, 1); /* the claim is not evicted */
	claims_end(&claims, "creating");
	assert_int_equal(claims.list[0].creations, 0);
}

static void a_promise_for_another_node_is_not_held(void **state)
{
	(void)state;
	take_for("v", first + 1, 11);
	assert_false(holds("v", first + 1));
	take_for("v", first + 2, 1);
	assert_true(holds("v", first + 2));
}

static void an_old_promise_is_not_held(void **state)
{
	(void)state;
	take_for("v", first + 1, 1);
	claims.list[0].given -= CLAIMS_VALID_MS - 60000;
	assert_true(holds("v", first + 1));
	claims.list[0].given -= 60000;
	assert_false(holds("v", first + 1));
}

static void nothing_is_promised_up_to_a_barrier(void **state)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	uint64_t *names, promised;
	size_t n;

	(void)state;
	take_for("here", first + 10, 1);
	take_for("anywhere", first + 11, 0);
	take_for("elsewhere", first + 12, 2);
	take_for("old", first + 13, 1);
	take_for("in creation", first + 14, 1);
	assert_true(claims_begin(&claims, "in creation", first + 14, 1));
	claims.list[3].given -= CLAIMS_VALID_MS;
	claims.list[4].given -= CLAIMS_VALID_MS;
	assert_int_equal(claims_barrier(&claims, first + 5, 1, &arena, &names, &n), first + 14);
	assert_int_equal(claims_barrier(&claims, first + 20, 1, &arena, &names, &n), first + 20);
	assert_int_equal(n, 3);
	assert_int_equal(names[0], first + 10);
	assert_int_equal(names[1], first + 11);
	assert_int_equal(names[2], first + 14);
	assert_false(take("here", first + 20, &promised));
	assert_int_equal(promised, first + 20);
	assert_true(holds("here", first + 10));
	take_for("here", first + 21, 1);
	assert_int_equal(before.forgot, first); /* a barrier forgets nothing */
}

/*
 * A lookup of the new name of a rename does not wait for the rename, which is queued with the calls
 * for the former name.
 */
static void a_name_that_is_being_created_is_not_promised(void **state)
{
	uint64_t promised;

	(void)state;
	assert_true(take("v", first + 5, &promised));
	assert_true(claims_begin(&claims, "v", first + 5, 1));
	assert_false(take("v", first + 6, &promised));
	assert_int_equal(promised, first + 5);
	assert_true(take("w", first + 6, &promised));
	claims_end(&claims, "v");
	assert_true(take("v", first + 6, &promised));
	assert_false(holds("v", first + 5));
}

/*
 * A barrier (a claim up to which nothing is promised any more) outlives the process, as promises
 * do.
 */
static void a_start_covers_the_barrier(void **state)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	uint64_t *names, ahead = first + 3600 * SECOND;
	struct error err;
	size_t n;

	(void)state;
	need_root();
	assert_int_equal(lock_file_open(DATASET, &err), 0);
	assert_int_equal(lock_file_keep(0), 0);
	start();
	assert_int_equal(claims_barrier(&claims, ahead, 1, &arena, &names, &n), ahead);
	start();
	assert_int_equal(first, ahead);
	lock_file_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_the_latest_claim_is_held, setup),
		cmocka_unit_test_setup(an_earlier_claim_is_refused_with_the_later_one, setup),
		cmocka_unit_test_setup(a_boot_covers_what_was_promised_before, setup),
		cmocka_unit_test_setup(a_start_covers_what_was_promised_before, setup),
		cmocka_unit_test_setup(evicted_claims_still_refuse_earlier_ones, setup),
		cmocka_unit_test_setup(the_targets_of_earlier_claims_are_reported, setup),
		cmocka_unit_test_setup(targets_that_are_dropped_count_as_forgotten, setup),
		cmocka_unit_test_setup(evicted_promises_count_as_forgotten, setup),
		cmocka_unit_test_setup(a_promise_for_another_node_is_not_held, setup),
		cmocka_unit_test_setup(an_old_promise_is_not_held, setup),
		cmocka_unit_test_setup(nothing_is_promised_up_to_a_barrier, setup),
		cmocka_unit_test_setup(a_name_that_is_being_created_is_not_promised, setup),
		cmocka_unit_test_setup(a_start_covers_the_barrier, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
