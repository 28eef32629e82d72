/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of --agents-file: the syntax of the file, and when a change of it is reported.
 */
#include "tests/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/agents_file.h"
#include "common/mem.h"

static char folder[] = "/tmp/zcsi-agents-XXXXXX";
static char path[64], other[64];
static struct agents_file *file;
static struct error err;

static int setup(void **state)
{
	(void)state;
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/agents", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	assert_int_equal(agents_file_watch(&file, path, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	agents_file_free(file);
	unlink(path);
	unlink(other);
	return rmdir(folder);
}

static void put(const char *name, const char *text)
{
	auto_fclose FILE *out = fopen(name, "we");

	assert_non_null(out);
	fputs(text, out);
}

static void assert_reads(const char *expected)
{
	auto_free char *text = agents_file_read(file, &err);

	assert_non_null(text);
	assert_string_equal(text, expected);
}

static void comments_and_space_are_skipped(void **state)
{
	static const struct {
		const char *text;
		const char *words[3];
	} cases[] = {
		{"", {NULL}},
		{"\n\n# no agents\n", {NULL}},
		{"tcp://a:1", {"tcp://a:1"}},
		{"tcp://a:1\r\n  tcp://b:2 # the second\n#tcp://c:3\n", {"tcp://a:1", "tcp://b:2"}},
		{"tcp://a:1 tcp://b:2\n", {"tcp://a:1", "tcp://b:2"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_free char *text = mem_strdup(cases[i].text);
		struct option_list list = agents_file_parse(text);
		size_t n = 0;
		for (; cases[i].words[n]; n++) {
			assert_true(n < list.n);
			assert_string_equal(list.values[n], cases[i].words[n]);
		}
		assert_int_equal(list.n, n);
		free(list.values);
	}
}

static void a_complete_write_is_a_change(void **state)
{
	(void)state;
	assert_false(agents_file_changed(file));
	put(path, "one");
	assert_true(agents_file_changed(file));
	assert_reads("one");
	assert_false(agents_file_changed(file));
	put(other, "two");
	assert_false(agents_file_changed(file));
	assert_int_equal(rename(other, path), 0);
	assert_true(agents_file_changed(file));
	assert_reads("two");
	put(path, "three");
	assert_true(agents_file_changed(file));
	assert_reads("three");
	auto_free char *text = agents_file_load(path, &err);
	assert_string_equal(text, "three");
}

static void a_file_open_for_writing_is_not_read(void **state)
{
	(void)state;
	put(path, "one");
	assert_reads("one");
	agents_file_changed(file);
	FILE *out = fopen(path, "we");
	fputs("half", out);
	fflush(out);
	assert_false(agents_file_changed(file));
	fputs(" and whole", out);
	fclose(out);
	assert_true(agents_file_changed(file));
	assert_reads("half and whole");
}

static void a_switched_link_is_a_change(void **state)
{
	char first[64];

	(void)state;
	snprintf(first, sizeof(first), "%s/first", folder);
	put(first, "one");
	put(other, "two");
	assert_int_equal(symlink("first", path), 0);
	assert_true(agents_file_changed(file));
	assert_reads("one");
	assert_false(agents_file_changed(file));
	unlink(path);
	assert_false(agents_file_changed(file));
	assert_int_equal(symlink("other", path), 0);
	assert_true(agents_file_changed(file));
	assert_reads("two");
	unlink(first);
}

static void an_unreadable_file_says_why(void **state)
{
	struct agents_file *nowhere;

	(void)state;
	assert_null(agents_file_read(file, &err));
	assert_non_null(strstr(err.text, path));
	assert_null(agents_file_load(path, &err));
	assert_non_null(strstr(err.text, path));
	assert_int_equal(agents_file_watch(&nowhere, "/nowhere/agents", &err), -1);
	assert_non_null(strstr(err.text, "--agents-file '/nowhere/agents'"));
	FILE *out = fopen(path, "we");
	fwrite("a\0b", 1, 3, out);
	fclose(out);
	assert_null(agents_file_read(file, &err));
	assert_non_null(strstr(err.text, "NUL"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comments_and_space_are_skipped),
		cmocka_unit_test_setup_teardown(a_complete_write_is_a_change, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_open_for_writing_is_not_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_switched_link_is_a_change, setup, teardown),
		cmocka_unit_test_setup_teardown(an_unreadable_file_says_why, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
