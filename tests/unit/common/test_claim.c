/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of claims, whose order is that in which they are made. */
#include "common/volume/claim.h"

#include "common/clock.h"
#include "tests/cmocka.h"

static void a_claim_has_the_time_at_which_it_was_made(void **state)
{
	const uint64_t before = (uint64_t)wall_us();
	const uint64_t made = claim_above(0) >> CLAIM_RANDOM_BITS;

	(void)state;
	assert_in_range(made, before, (uint64_t)wall_us());
}

/* So it is if another clock is ahead, or this one was set back. */
static void a_claim_is_above_an_earlier_one_of_a_later_time(void **state)
{
	const uint64_t late = ((uint64_t)wall_us() + CLAIM_AHEAD_US) << CLAIM_RANDOM_BITS;
	const uint64_t highest = late | ((1U << CLAIM_RANDOM_BITS) - 1);

	(void)state;
	assert_int_equal(claim_above(late) >> CLAIM_RANDOM_BITS, (late >> CLAIM_RANDOM_BITS) + 1);
	assert_true(claim_above(highest) > highest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_has_the_time_at_which_it_was_made),
		cmocka_unit_test(a_claim_is_above_an_earlier_one_of_a_later_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
