/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the outbox: bytes leave it in the order in which they were added, whatever the sizes of
 * the parts.
 */
#include "tests/cmocka.h"

#include "transport/outbox.h"

/* Take n bytes, as writing them to a socket does. */
static void take(struct outbox *box, char *ret, size_t n)
{
	memcpy(ret, box->bytes + box->at, n);
	box->at += n;
}

static void bytes_keep_their_order(void **state)
{
	(void)state;
	struct outbox box = {0};
	uint8_t next_in = 0, next_out = 0;
	char part[64];

	for (unsigned turn = 0; turn < 2000; turn++) {
		size_t in = turn % 37, out = turn * 7 % 41;
		for (size_t i = 0; i < in; i++)
			outbox_add(&box, &(uint8_t){next_in++}, 1);
		if (out > outbox_waiting(&box))
			out = outbox_waiting(&box);
		if (out > 0)
			take(&box, part, out);
		for (size_t i = 0; i < out; i++)
			assert_int_equal((uint8_t)part[i], next_out++);
	}
	assert_int_equal(outbox_waiting(&box), (uint8_t)(next_in - next_out));
	outbox_fini(&box);
	assert_int_equal(outbox_waiting(&box), 0);
}

static void reserved_space_is_not_moved(void **state)
{
	(void)state;
	struct outbox box = {0};

	outbox_add(&box, "a", 1);
	outbox_reserve(&box, 1000);
	const uint8_t *bytes = box.bytes;
	for (int i = 0; i < 1000; i++)
		outbox_add(&box, "b", 1);
	assert_ptr_equal(box.bytes, bytes);
	assert_int_equal(outbox_waiting(&box), 1001);
	outbox_fini(&box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_keep_their_order),
		cmocka_unit_test(reserved_space_is_not_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
