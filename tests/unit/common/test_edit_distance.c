/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the edit distance between two words, and of the limit below which a word is suggested
 * for a misspelt one.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "common/mem.h"
#include "common/edit_distance.h"

static void edits_are_counted(void **state)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} cases[] = {
		{"", "", 0},        {"abc", "", 3},           {"abc", "abc", 0},
		{"abc", "ABC", 0},  {"abc", "abd", 1},        {"abc", "ab", 1},
		{"abc", "xabc", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(edit_distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(edit_distance(cases[i].b, cases[i].a), cases[i].distance);
	}
}

/* Only the first 63 bytes of a word are compared, so that a long word of a request costs little. */
static void long_words_are_cut(void **state)
{
	char word[5000];

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(edit_distance(word, ""), 63);
	assert_int_equal(edit_distance(word, word), 0);
}

static void a_close_word_differs_little(void **state)
{
	(void)state;
	assert_true(edit_close("zfs.compression", 2));
	assert_false(edit_close("zfs.compression", 4));
	assert_true(edit_close("mode", 1));
	assert_false(edit_close("mode", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_are_counted),
		cmocka_unit_test(long_words_are_cut),
		cmocka_unit_test(a_close_word_differs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
