/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the escapes: the guarantees of common/volume/escape.h, checked with known texts and with
 * 20,000 random ones.
 */
#include "tests/cmocka.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"

#define TEXTS    20000
#define TEXT_MAX 200

static struct arena arena;

/* Pseudo-random numbers; the sequence is the same in every run, so that a failure can be
 * reproduced. */
static unsigned random_below(unsigned bound)
{
	static uint64_t seed = 88172645463325252;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % bound;
}

/* Fill ret_text with a random text. Most bytes are near the limits of the rules, so that short
 * texts nearly collide. */
static void random_text(char ret_text[TEXT_MAX + 1])
{
	static const char likely[] = "._-_.05AFafhZ/@ ";
	size_t n = random_below(4) ? random_below(6) : random_below(TEXT_MAX + 1);
	bool any = random_below(2);

	for (size_t i = 0; i < n; i++)
		ret_text[i] = any ? (char)(random_below(255) + 1)
				  : likely[random_below(sizeof(likely) - 1)];
	ret_text[n] = '\0';
}

static void ids_are_escaped_as_documented(void **state)
{
	(void)state;
	static const struct {
		const char *id, *leaf;
	} cases[] = {
		{"traefik-acme", "traefik-acme"},
		{"vol[0]", "vol_5B0_5D"},
		{"_trash", "_5Ftrash"},
		{".", "_2E"},
		{"..", "_2E."},
		{"a.b", "a.b"},
		{"../x", "_2E._2Fx"},
		{"a@b", "a_40b"},
		{"\xc3\xbc\x7f\x01", "_C3_BC_7F_01"},
		{"", ""},
	};
	char leaf[ESCAPE_LEAF_MAX + 1];

	for (size_t i = 0; i < COUNT(cases); i++) {
		escape_leaf(cases[i].id, leaf);
		assert_string_equal(leaf, cases[i].leaf);
		assert_string_equal(escape_text(&arena, cases[i].id), cases[i].leaf);
		assert_string_equal(unescape_text(&arena, cases[i].leaf), cases[i].id);
	}
}

static void long_ids_are_shortened(void **state)
{
	(void)state;
	char id[200], leaf[ESCAPE_LEAF_MAX + 1], other[ESCAPE_LEAF_MAX + 1];

	memset(id, 'a', sizeof(id));
	id[120] = '\0';
	escape_leaf(id, leaf);
	assert_string_equal(leaf, id);
	id[120] = 'a';
	id[121] = '\0';
	escape_leaf(id, leaf);
	/* This hash is the output of: printf 'a%.0s' $(seq 121) | sha256sum */
	assert_string_equal(leaf, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_h"
				  "e9615320128cc7a3d6078e9af0560318");
	id[119] = '/';
	id[120] = '\0';
	escape_leaf(id, other);
	assert_int_equal(strlen(other), 55 + 2 + 32);
	assert_memory_equal(leaf, other, 57);
	assert_string_not_equal(leaf, other);
}

static void assert_leaf_is_a_name(const char *leaf)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789._-";

	assert_true(strlen(leaf) <= ESCAPE_LEAF_MAX);
	assert_int_equal(strspn(leaf, alphabet), strlen(leaf));
	assert_int_not_equal(leaf[0], '.');
	assert_false(leaf[0] == '_' && islower((unsigned char)leaf[1]));
}

struct pair {
	char text[TEXT_MAX + 1];
	char leaf[ESCAPE_LEAF_MAX + 1];
};

static int by_leaf(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->leaf, ((const struct pair *)b)->leaf);
}

static void leaves_are_names_and_never_shared(void **state)
{
	(void)state;
	auto_free struct pair *pairs = mem_alloc(TEXTS * sizeof(*pairs));

	for (size_t i = 0; i < TEXTS; i++) {
		random_text(pairs[i].text);
		escape_leaf(pairs[i].text, pairs[i].leaf);
		assert_leaf_is_a_name(pairs[i].leaf);
	}
	qsort(pairs, TEXTS, sizeof(*pairs), by_leaf);
	for (size_t i = 1; i < TEXTS; i++)
		if (strcmp(pairs[i - 1].leaf, pairs[i].leaf) == 0)
			assert_string_equal(pairs[i - 1].text, pairs[i].text);
}

static void unescape_returns_the_text(void **state)
{
	(void)state;
	char text[TEXT_MAX + 1], leaf[ESCAPE_LEAF_MAX + 1];

	for (size_t i = 0; i < TEXTS; i++) {
		random_text(text);
		char *escaped = escape_text(&arena, text);
		assert_true(strlen(escaped) <= 3 * strlen(text));
		char *back = unescape_text(&arena, escaped);
		assert_non_null(back);
		assert_string_equal(back, text);
		escape_leaf(text, leaf);
		assert_int_equal(strcmp(leaf, escaped) == 0, strlen(escaped) <= ESCAPE_LEAF_MAX);
	}
}

/* unescape_text() either refuses a text, or the text is exactly the escape of the result. */
static void unescape_takes_escapes_only(void **state)
{
	(void)state;
	static const char *const refused[] = {
		"_5b",  "_",   "_5",  "a_",  ".a",  "_41",    "a_2E",     "_2D", "_00",
		"a_00", "_G0", "_0G", "a b", "a/b", "_trash", "\xc3\xbc", "a_5", "a_00b",
	};
	char text[TEXT_MAX + 1];
	unsigned taken = 0;

	for (size_t i = 0; i < COUNT(refused); i++)
		assert_null(unescape_text(&arena, refused[i]));
	for (size_t i = 0; i < TEXTS; i++) {
		random_text(text);
		char *back = unescape_text(&arena, text);
		if (!back)
			continue;
		assert_string_equal(escape_text(&arena, back), text);
		taken++;
	}
	assert_in_range(taken, 100, TEXTS - 100);
}

static int make_arena(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	return 0;
}

static int free_arena(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_escaped_as_documented),
		cmocka_unit_test(long_ids_are_shortened),
		cmocka_unit_test(leaves_are_names_and_never_shared),
		cmocka_unit_test(unescape_returns_the_text),
		cmocka_unit_test(unescape_takes_escapes_only),
	};

	return cmocka_run_group_tests(tests, make_arena, free_arena);
}
