/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the claims of an agent: earlier and later claims of a name, and claims that were
 * evicted.
 */
#include "tests/cmocka.h"

#include <stdio.h>
#include <time.h>

#include "node/agent/claims.h"
#include "node/zfs/lock_file.h"

#define SECOND  ((uint64_t)1000000 << 12)
#define DATASET "tests/claims"

static struct claims claims;
/* the claim that the agent treats as promised for every name since its start */
static uint64_t first;

static void start(void)
{
	claims = (struct claims){.next = 0};
	assert_false(claims_take(&claims, "", 0, &first));
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
	assert_false(claims_hold(&claims, "v", first + 5));
	assert_true(claims_take(&claims, "v", first + 5, &promised));
	assert_true(claims_hold(&claims, "v", first + 5));
	assert_true(claims_take(&claims, "v", first + 7, &promised));
	assert_false(claims_hold(&claims, "v", first + 5));
	assert_true(claims_hold(&claims, "v", first + 7));
	assert_false(claims_hold(&claims, "w", first + 7));
}

static void an_earlier_claim_is_refused_with_the_later_one(void **state)
{
	uint64_t promised = 0;

	(void)state;
	assert_true(claims_take(&claims, "v", first + 7, &promised));
	assert_false(claims_take(&claims, "v", first + 6, &promised));
	assert_int_equal(promised, first + 7);
	assert_false(claims_take(&claims, "v", first + 7, &promised));
	assert_true(claims_take(&claims, "w", first + 6, &promised));
	assert_true(claims_hold(&claims, "v", first + 7));
}

/* Claims do not survive a reboot. After one, no claim is granted that an earlier process may have
 * refused. */
static void a_boot_covers_what_was_promised_before(void **state)
{
	uint64_t now = (uint64_t)time(NULL) * SECOND, promised = 0;

	(void)state;
	assert_false(claims_take(&claims, "v", now, &promised));
	assert_false(claims_take(&claims, "v", now + 30 * SECOND, &promised));
	assert_true(promised >= now + 30 * SECOND);
	assert_true(claims_take(&claims, "v", promised + 1, &promised));
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
	assert_true(claims_take(&claims, "v", ahead, &promised));
	assert_true(claims_take(&claims, "w", ahead - 1, &promised));
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
		assert_true(claims_take(&claims, id, first + i, &promised));
	}
	assert_false(claims_hold(&claims, "v10", first + 10));
	assert_true(claims_hold(&claims, "v11", first + 11));
	assert_false(claims_take(&claims, "v10", first + 9, &promised));
	assert_int_equal(promised, first + 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_the_latest_claim_is_held, setup),
		cmocka_unit_test_setup(an_earlier_claim_is_refused_with_the_later_one, setup),
		cmocka_unit_test_setup(a_boot_covers_what_was_promised_before, setup),
		cmocka_unit_test_setup(a_start_covers_what_was_promised_before, setup),
		cmocka_unit_test_setup(evicted_claims_still_refuse_earlier_ones, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
