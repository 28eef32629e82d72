/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the token bucket, with a clock that the test moves.
 */
#include "transport/bucket.h"

#include <stdlib.h>

#include "common/mem.h"
#include "tests/cmocka.h"

#define PIECE 262144 /* bytes that pass at a time */

/*
 * Take bytes for `ms` milliseconds as a pump does: if the bucket has no room, try again after
 * BUCKET_WAIT_MS and up to `late` further milliseconds. Returns how many bytes passed.
 */
static uint64_t pass(struct bucket *bucket, int64_t ms, int late)
{
	int64_t now = 1000;
	uint64_t sum = 0, room;
	unsigned seed = 1;

	bucket_init(bucket, bucket->rate, now);
	while (now < 1000 + ms) {
		while ((room = bucket_room(bucket, PIECE, now)) > 0) {
			bucket_take(bucket, room);
			sum += room;
		}
		now += BUCKET_WAIT_MS + (late ? rand_r(&seed) % late : 0);
	}
	return sum;
}

static void the_rate_is_kept_within_five_percent(void **state)
{
	static const uint64_t rates[] = {65536, 1000003, 52428800, (uint64_t)1 << 40};

	(void)state;
	for (size_t i = 0; i < COUNT(rates); i++) {
		struct bucket bucket = {.rate = rates[i]};
		uint64_t sum = pass(&bucket, 5000, 150);
		assert_true(sum <= rates[i] * 5);
		assert_true(sum >= rates[i] * 5 / 20 * 19);
	}
}

static void no_fraction_of_a_byte_is_lost(void **state)
{
	struct bucket bucket;
	uint64_t sum = 0;

	(void)state;
	bucket_init(&bucket, 100, 0);
	for (int64_t now = 1; now <= 10000; now++) {
		uint64_t room = bucket_room(&bucket, PIECE, now);
		bucket_take(&bucket, room);
		sum += room;
	}
	assert_int_equal(sum, 1000);
}

static void a_pause_is_not_made_up_for(void **state)
{
	struct bucket bucket;

	(void)state;
	bucket_init(&bucket, 1000000, 0);
	assert_int_equal(bucket_room(&bucket, UINT64_MAX, 0), 0);
	assert_int_equal(bucket_room(&bucket, UINT64_MAX, 100), 100000);
	assert_int_equal(bucket_room(&bucket, UINT64_MAX, 3600000), 250000);
	bucket_take(&bucket, 250000);
	assert_int_equal(bucket_room(&bucket, UINT64_MAX, 3600000), 0);
}

static void a_small_amount_waits_for_more(void **state)
{
	struct bucket bucket;

	(void)state;
	bucket_init(&bucket, 1000000, 0);
	assert_int_equal(bucket_room(&bucket, PIECE, 1), 0);
	assert_int_equal(bucket_room(&bucket, 900, 1), 900);
	assert_int_equal(bucket_room(&bucket, PIECE, BUCKET_WAIT_MS), 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_is_kept_within_five_percent),
		cmocka_unit_test(no_fraction_of_a_byte_is_lost),
		cmocka_unit_test(a_pause_is_not_made_up_for),
		cmocka_unit_test(a_small_amount_waits_for_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
