/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the queue of chunks: bytes leave it in order, whatever the sizes taken, and gone() is
 * called once for each chunk that was taken or dropped.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "common/mem.h"
#include "transport/chunk.h"

static struct chunks chunks;
static unsigned n_gone;

static struct chunk chunk_of(const char *text)
{
	return (struct chunk){.bytes = (const uint8_t *)text, .size = strlen(text)};
}

static void count_gone(struct chunk *chunk)
{
	assert_ptr_not_equal(chunks.first, chunk);
	n_gone++;
}

/* Take up to n bytes, and assert that they are the text. */
static void assert_takes(size_t n, const char *text)
{
	uint8_t bytes[100];

	assert_int_equal(chunks_take(&chunks, bytes, n), strlen(text));
	assert_memory_equal(bytes, text, strlen(text));
}

static void bytes_come_in_order_whatever_the_pieces(void **state)
{
	static const char text[] = "abcdefghij";

	(void)state;
	for (size_t n = 1; n <= 11; n++) {
		struct chunk parts[] = {chunk_of("abc"), chunk_of("d"), chunk_of("efghij")};
		uint8_t bytes[11];
		size_t taken = 0, part;
		for (size_t i = 0; i < COUNT(parts); i++)
			chunks_add(&chunks, &parts[i]);
		assert_int_equal(chunks.size, 10);
		while ((part = chunks_take(&chunks, bytes + taken, n)) > 0) {
			taken += part;
			assert_int_equal(chunks.size, 10 - taken);
		}
		assert_int_equal(taken, 10);
		assert_memory_equal(bytes, text, 10);
		assert_null(chunks.first);
	}
}

static void gone_is_called_when_a_chunk_is_taken_or_dropped(void **state)
{
	struct chunk first = chunk_of("abc"), second = chunk_of("def");

	(void)state;
	first.gone = second.gone = count_gone;
	n_gone = 0;
	chunks_add(&chunks, &first);
	chunks_add(&chunks, &second);
	assert_takes(2, "ab");
	assert_int_equal(n_gone, 0);
	assert_takes(2, "cd");
	assert_int_equal(n_gone, 1);
	chunks_drop(&chunks);
	assert_int_equal(n_gone, 2);
	assert_int_equal(chunks.size, 0);
	assert_takes(2, "");
}

static void add_once_more(struct chunk *chunk)
{
	if (n_gone++ < 2)
		chunks_add(&chunks, chunk);
}

static void chunk_may_be_added_again_at_once(void **state)
{
	struct chunk chunk = chunk_of("abc");

	(void)state;
	chunk.gone = add_once_more;
	n_gone = 0;
	chunks_add(&chunks, &chunk);
	assert_takes(7, "abcabca");
	assert_takes(100, "bc");
	assert_int_equal(n_gone, 3);
}

static void chunk_with_memory_of_its_own_frees_itself(void **state)
{
	uint8_t *bytes;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct chunk *chunk = chunk_new(3, &bytes);
		memcpy(bytes, "abc", 3);
		chunks_add(&chunks, chunk);
	}
	assert_takes(4, "abca");
	chunks_drop(&chunks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_in_order_whatever_the_pieces),
		cmocka_unit_test(gone_is_called_when_a_chunk_is_taken_or_dropped),
		cmocka_unit_test(chunk_may_be_added_again_at_once),
		cmocka_unit_test(chunk_with_memory_of_its_own_frees_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
