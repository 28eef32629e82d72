/* SPDX-License-Identifier: MPL-2.0 */
/* Promises of an agent: what is earlier, later, forgotten. */
#include "tests/cmocka.h"

#include <stdio.h>
#include <time.h>

#include "common/clock.h"
#include "node/claims.h"

#define SECOND ((uint64_t)1000000 << 12)

static struct claims claims;

static int setup(void **state)
{
	(void)state;
	claims = (struct claims){.next = 0};
	return 0;
}

static void the_latest_is_held(void **state)
{
	uint64_t promised;

	(void)state;
	assert_false(claims_hold(&claims, "v", 5));
	assert_true(claims_take(&claims, "v", 5, &promised));
	assert_true(claims_hold(&claims, "v", 5));
	assert_true(claims_take(&claims, "v", 7, &promised));
	assert_false(claims_hold(&claims, "v", 5));
	assert_true(claims_hold(&claims, "v", 7));
	assert_false(claims_hold(&claims, "w", 7));
}

static void an_earlier_one_hears_of_the_later(void **state)
{
	uint64_t promised = 0;

	(void)state;
	assert_true(claims_take(&claims, "v", 7, &promised));
	assert_false(claims_take(&claims, "v", 6, &promised));
	assert_int_equal(promised, 7);
	assert_false(claims_take(&claims, "v", 7, &promised));
	assert_true(claims_take(&claims, "w", 6, &promised));
	assert_true(claims_hold(&claims, "v", 7));
}

/* Another start knows nothing, and grants nothing that an earlier process can have refused. */
static void a_start_covers_what_was_promised_before(void **state)
{
	uint64_t now = (uint64_t)time(NULL) * SECOND, promised = 0;

	(void)state;
	claims_init(&claims);
	assert_false(claims_take(&claims, "v", now, &promised));
	assert_false(claims_take(&claims, "v", now + 30 * SECOND, &promised));
	assert_true(promised >= now + 30 * SECOND);
	assert_true(claims_take(&claims, "v", promised + 1, &promised));
}

/* Claims follow what a start has refused, and another start comes within the same second. */
static void each_start_covers_what_was_promised_since_the_last(void **state)
{
	uint64_t claim = 0, again;

	(void)state;
	claims_init(&claims);
	assert_false(claims_take(&claims, "v", claim, &claim));
	claim += 1 << 12;
	assert_true(claims_take(&claims, "v", claim, &again));
	for (int64_t us = wall_us(); wall_us() <= us + 1;)
		;
	claims = (struct claims){.next = 0};
	claims_init(&claims);
	assert_false(claims_take(&claims, "v", claim, &again));
}

static void what_is_forgotten_is_covered(void **state)
{
	uint64_t promised;
	char id[16];

	(void)state;
	for (uint64_t i = 1; i <= CLAIMS_MAX + 10; i++) {
		snprintf(id, sizeof(id), "v%d", (int)i);
		assert_true(claims_take(&claims, id, i, &promised));
	}
	assert_false(claims_hold(&claims, "v10", 10));
	assert_true(claims_hold(&claims, "v11", 11));
	assert_false(claims_take(&claims, "v10", 9, &promised));
	assert_int_equal(promised, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_latest_is_held, setup),
		cmocka_unit_test_setup(an_earlier_one_hears_of_the_later, setup),
		cmocka_unit_test_setup(a_start_covers_what_was_promised_before, setup),
		cmocka_unit_test_setup(each_start_covers_what_was_promised_since_the_last, setup),
		cmocka_unit_test_setup(what_is_forgotten_is_covered, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
