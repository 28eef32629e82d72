/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of a pump with a limit of its rate: the limit is not exceeded, and no other call waits for
 * the pump.
 */
#include "tests/transport/pump_ends.h"

#include "transport/bucket.h"

/* Assert the least time of a transfer. A slow host only makes the time longer, so that a slow
 * transfer is no failure. */
static void limited_transfer(bool down)
{
	const uint64_t size = 3 * MIB, rate = 8 * MIB;
	int64_t begun = now_ms();

	call.rate = rate;
	transfer_whole(size, down);
	assert_true(size <= (uint64_t)(now_ms() - begun + BUCKET_MS) * rate / 1000);
}

static void sender_keeps_its_limit(void **state)
{
	(void)state;
	limited_transfer(false);
	limited_transfer(true);
}

/* Begin a call whose pump waits for its rate limit. The whole transfer would take 18 hours. */
static void begin_slowly(bool down)
{
	call.down = down;
	call.rate = 16;
	end_init(&call.writer, true, MIB);
	end_init(&call.reader, false, UINT64_MAX);
	begin();
	start(&call.writer, write_pattern);
	start(&call.reader, read_pattern);
}

static void others_are_served_beside_a_limit(void **state)
{
	static const struct side one = {.to_send = 1, .size = 10, .ends = WHEN_SENT};

	(void)state;
	begin_slowly(false);
	ends.script = NULL;
	call_begin(&one, &one, NO_DEADLINE);
	call_end(ERR_OK, ERR_OK);
	looper_do(&ends.client_loop, abort_call, call.client);
	wait_for(&call.writer.done);
	wait_for(&call.reader.done);
	wait_for_end(ERR_ABORTED);
	join(&call.writer);
	join(&call.reader);
	assert_true(call.reader.count < MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, pump_setup, ends_stop)
		TEST(sender_keeps_its_limit),
		TEST(others_are_served_beside_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
