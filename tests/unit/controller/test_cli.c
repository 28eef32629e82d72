/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of zcsi's output: amounts, progress, tables for people and for programs, JSON; and of the
 * certificate that it finds.
 */
#include "tests/cmocka.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/cli/amount.h"
#include "controller/cli/credentials.h"
#include "controller/cli/progress.h"
#include "controller/cli/table.h"

static struct arena arena;

static void amounts_have_three_digits(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0B"},
		{999, "999B"},
		{1000, "0.98K"},
		{1024, "1.00K"},
		{1536, "1.50K"},
		{10 << 10, "10.0K"},
		{100 << 10, "100K"},
		{1023487, "999K"},
		{1023488, "0.98M"},
		{42949672960, "40.0G"},
		{UINT64_MAX, "16.0E"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(amount_bytes(&arena, cases[i].bytes), cases[i].text);
}

static void times_have_one_unit(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} cases[] = {
		{0, "0 s"},
		{59, "59 s"},
		{60, "1 min"},
		{61, "2 min"},
		{3540, "59 min"},
		{3541, "1 h"},
		{47 * 3600, "47 h"},
		{47 * 3600 + 1, "2 days"},
		{INT32_MAX, "24856 days"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(amount_time(&arena, cases[i].seconds), cases[i].text);
}

static void progress_has_what_is_known(void **state)
{
	static const struct {
		struct progress progress;
		const char *text;
	} cases[] = {
		{{0, 0, 0}, "0B"},
		{{0, 1 << 20, 500}, "0B of 1.00M"},
		{{1 << 20, 0, 2000}, "1.00M, 512K/s"},
		{{1 << 20, 4 << 20, 2000}, "1.00M of 4.00M, 512K/s, about 6 s"},
		{{4 << 20, 4 << 20, 2000}, "4.00M of 4.00M, 2.00M/s"},
		{{5 << 20, 4 << 20, 1000}, "5.00M of 4.00M, 5.00M/s"},
		{{1, (uint64_t)1 << 40, INT32_MAX}, "1B of 1.00T, 0B/s"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(progress_text(&arena, &cases[i].progress), cases[i].text);
}

static void moments_are_local(void **state)
{
	(void)state;
	setenv("TZ", "UTC-2", 1);
	assert_string_equal(amount_moment(&arena, 0), "1970-01-01 02:00");
}

static const struct column columns[] = {
	{"volume", CELL_TEXT},    {"used_by", CELL_WORDS},   {"size", CELL_BYTES},
	{"created", CELL_MOMENT}, {"snapshots", CELL_COUNT},
};
static const char *const two[] = {"n1", "n2", NULL};
static const struct cell cells[] = {
	{.text = "a\tb\x1b\xff\xc3\xa9\"\n"},
	{.words = two},
	{.number = 1536},
	{.number = 0},
	{.number = 3},
	{.text = "long-name"},
	{.words = NULL},
	{.number = -1},
	{.number = -1},
	{.number = 1000},
};
static const struct table rows = {"volumes", columns, COUNT(columns), cells, 2, false};
static const struct table record = {"volume", columns, COUNT(columns), cells, 1, true};

static void assert_printed(const struct table *table, struct style style, const char *expected)
{
	static const struct silence silences[] = {{"n3", "cannot reach \"n3\""}};
	auto_free char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table_print(out, table, &style, silences, style.json ? 1 : 0);
	fclose(out);
	assert_string_equal(text, expected);
}

static void rows_are_aligned_for_people(void **state)
{
	(void)state;
	assert_printed(&rows, (struct style){0},
		       "VOLUME     USED BY   SIZE  CREATED           SNAPSHOTS\n"
		       "a?b??\xc3\xa9\"?   n1,n2    1.50K  1970-01-01 02:00          3\n"
		       "long-name  -            -  -                      1000\n");
	assert_printed(&record, (struct style){0},
		       "volume     a?b??\xc3\xa9\"?\n"
		       "used_by    n1,n2\n"
		       "size       1.50K\n"
		       "created    1970-01-01 02:00\n"
		       "snapshots  3\n");
}

/* A control character in a name cannot add a column or a line. */
static void rows_for_programs_have_tabs(void **state)
{
	(void)state;
	assert_printed(&rows, (struct style){.bare = true, .exact = true},
		       "a?b??\xc3\xa9\"?\tn1,n2\t1536\t0\t3\n"
		       "long-name\t-\t-\t-\t1000\n");
	assert_printed(&record, (struct style){.bare = true, .exact = true},
		       "volume\ta?b??\xc3\xa9\"?\nused_by\tn1,n2\nsize\t1536\ncreated\t0\n"
		       "snapshots\t3\n");
}

static void json_has_exact_values(void **state)
{
	(void)state;
	assert_printed(&rows, (struct style){.json = true},
		       "{\"version\": 1,\n \"volumes\": [\n"
		       "  {\"volume\": \"a\\u0009b\\u001b\\ufffd\xc3\xa9\\u0022\\u000a\", "
		       "\"used_by\": [\"n1\", \"n2\"], \"size\": 1536, \"created\": 0, "
		       "\"snapshots\": 3},\n"
		       "  {\"volume\": \"long-name\", \"used_by\": [], \"size\": null, "
		       "\"created\": null, \"snapshots\": 1000}],\n"
		       " \"silent\": [\n"
		       "  {\"agent\": \"n3\", \"error\": \"cannot reach \\u0022n3\\u0022\"}]}\n");
}

static void touch(const char *folder, const char *name)
{
	auto_close int fd = open(arena_printf(&arena, "%s/%s", folder, name),
				 O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static void the_first_whole_certificate_is_found(void **state)
{
	/* operator.pem is without its key. */
	static const char *const files[] = {"operator.pem", "controller.zcsi.pem",
					    "controller.zcsi.key", "ca.pem"};
	char *folder = arena_strdup(&arena, "/tmp/zcsi-cli-XXXXXX");
	struct trust trust = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < 3; i++)
		touch(folder, files[i]);
	credentials_find(&trust, folder, &arena);
	assert_null(trust.ca); /* there is no CA */
	touch(folder, files[3]);
	credentials_find(&trust, folder, &arena);
	assert_string_equal(trust.key, arena_printf(&arena, "%s/controller.zcsi.key", folder));
	trust = (struct trust){.ca = "given"};
	credentials_find(&trust, folder, &arena);
	assert_null(trust.key);
	for (size_t i = 0; i < COUNT(files); i++)
		assert_int_equal(unlink(arena_printf(&arena, "%s/%s", folder, files[i])), 0);
	assert_int_equal(rmdir(folder), 0);
}

static int begin(void **state)
{
	(void)state;
	arena_init(&arena, SIZE_MAX);
	return 0;
}

static int end(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_have_three_digits),
		cmocka_unit_test(times_have_one_unit),
		cmocka_unit_test(progress_has_what_is_known),
		cmocka_unit_test(moments_are_local),
		cmocka_unit_test(rows_are_aligned_for_people),
		cmocka_unit_test(rows_for_programs_have_tabs),
		cmocka_unit_test(json_has_exact_values),
		cmocka_unit_test(the_first_whole_certificate_is_found),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
