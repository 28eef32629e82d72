/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of zcsi's output: amounts, progress, tables for people and for programs, JSON. Tests of the
 * streams that zcsi takes, and of the certificate that it finds.
 */
#include "tests/cmocka.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/cli/adopt.h"
#include "controller/cli/print/amount.h"
#include "controller/cli/fleet.h"
#include "controller/cli/print/progress.h"
#include "controller/cli/stream/receive.h"
#include "controller/cli/print/table.h"

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

/* Write the first record of a ZFS send stream. features are bits of the record's version. */
static void put_head(uint8_t *head, uint64_t kind, uint64_t features, uint32_t type, uint64_t from)
{
	const uint64_t magic = 0x2f5bacbac, version = features << 2 | kind, guid = 7;

	memset(head, 0, STREAM_HEAD_SIZE);
	memcpy(head + 8, &magic, sizeof(magic));
	memcpy(head + 16, &version, sizeof(version));
	memcpy(head + 32, &type, sizeof(type));
	memcpy(head + 40, &guid, sizeof(guid));
	memcpy(head + 48, &from, sizeof(from));
}

static void assert_no_volume(const uint8_t *head, const char *why)
{
	struct stream_head parsed;
	struct error err;

	assert_int_equal(stream_head_parse(head, &parsed, &err), -1);
	assert_non_null(strstr(err.text, why));
}

static void the_head_of_a_stream_tells_what_it_is(void **state)
{
	uint8_t head[STREAM_HEAD_SIZE];
	struct stream_head parsed;
	struct error err;

	(void)state;
	put_head(head, 1, 4, 2, 0);
	assert_int_equal(stream_head_parse(head, &parsed, &err), 0);
	assert_false(parsed.zvol || parsed.raw);
	put_head(head, 1, 1 << 24, 3, 0);
	assert_int_equal(stream_head_parse(head, &parsed, &err), 0);
	assert_true(parsed.zvol && parsed.raw);
	put_head(head, 2, 4, 2, 0);
	assert_no_volume(head, "package");
	put_head(head, 1, 4, 2, 5);
	assert_no_volume(head, "incremental");
	put_head(head, 1, 4, 1, 0);
	assert_no_volume(head, "neither");
	head[0] = 1;
	assert_no_volume(head, "not a stream");
	memset(head, 0, sizeof(head));
	assert_no_volume(head, "not a stream");
}

static void sizes_have_units_of_1024(void **state)
{
	static const char *const wrong[] = {"",    "0",    "-1",       "G", "1GB",
					    "1 G", "1.5G", "9999999P", "1E"};
	int64_t size;
	struct error err;

	(void)state;
	assert_int_equal(making_size("size", "4096", &size, &err), 0);
	assert_int_equal(size, 4096);
	assert_int_equal(making_size("size", "10G", &size, &err), 0);
	assert_int_equal(size, (int64_t)10 << 30);
	assert_int_equal(making_size("size", "64m", &size, &err), 0);
	assert_int_equal(size, 64 << 20);
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_int_equal(making_size("size", wrong[i], &size, &err), -1);
}

static void touch(const char *folder, const char *name)
{
	auto_close int fd = open(arena_printf(&arena, "%s/%s", folder, name),
				 O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
}

static void the_first_whole_certificate_is_found(void **state)
{
	/* The key of operator.pem is missing, so that the next certificate with a key is used. */
	static const char *const files[] = {"operator.pem", "controller.zcsi.pem",
					    "controller.zcsi.key", "ca.pem"};
	char *folder = arena_strdup(&arena, "/tmp/zcsi-cli-XXXXXX");
	struct trust trust = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < 3; i++)
		touch(folder, files[i]);
	fleet_credentials(&trust, folder, &arena);
	assert_null(trust.ca); /* ca.pem is missing */
	touch(folder, files[3]);
	fleet_credentials(&trust, folder, &arena);
	assert_string_equal(trust.key, arena_printf(&arena, "%s/controller.zcsi.key", folder));
	trust = (struct trust){.ca = "given"};
	fleet_credentials(&trust, folder, &arena);
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
		cmocka_unit_test(the_head_of_a_stream_tells_what_it_is),
		cmocka_unit_test(sizes_have_units_of_1024),
		cmocka_unit_test(the_first_whole_certificate_is_found),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
