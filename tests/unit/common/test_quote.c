/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of quote_words(): the exact text of known words, and what a real shell makes of hostile
 * ones.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "common/exec.h"
#include "common/quote.h"
#include "tests/arena.h"

static const char *const hostile[] = {
	"",         " ",
	"'",        "''",
	"it's",     "\"",
	"\\",       "\\'",
	"a\nb",     "\n",
	"$HOME",    "$(id)",
	"`id`",     "-rf",
	"--",       "!",
	"!!",       ";",
	"&& id",    "| id",
	"> x",      "*",
	"~",        "#",
	"{a,b}",    "a=b",
	"\t",       "\xc3\xbc\xe2\x82\xac",
	"\x01\x7f", "zcsi:note='; touch x; '",
	NULL,
};

static void words_are_quoted_for_a_shell(void **state)
{
	static const struct {
		const char *words[4], *text;
	} cases[] = {
		{{NULL}, ""},
		{{"zfs", "get", NULL}, "'zfs' 'get'"},
		{{"", "", NULL}, "'' ''"},
		{{"it's", NULL}, "'it'\\''s'"},
		{{"'", "b", NULL}, "''\\''' 'b'"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(quote_words(&arena, cases[i].words), cases[i].text);
}

/* Run sh, as sshd does on a server. printf writes each word followed by "|" and a newline, so that
 * the test sees where it ends. */
static void a_shell_reads_the_words_unchanged(void **state)
{
	const char *script =
		arena_printf(&arena, "printf '%%s|\\n' %s", quote_words(&arena, hostile));
	const char *const argv[] = {"sh", "-c", script, NULL};
	struct exec_result result;
	struct error err;
	char *expected = arena_strdup(&arena, "");

	(void)state;
	for (size_t i = 0; hostile[i]; i++)
		expected = arena_printf(&arena, "%s%s|\n", expected, hostile[i]);
	assert_int_equal(exec_run(&(struct exec){.argv = argv}, &result, &err), 0);
	assert_string_equal(result.out, expected);
	assert_string_equal(result.error, "");
	exec_result_fini(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_quoted_for_a_shell),
		cmocka_unit_test(a_shell_reads_the_words_unchanged),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
