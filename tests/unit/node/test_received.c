/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of what a received dataset must be to become a volume.
 */
#include "node/record/received.h"

#include <string.h>

#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define GOOD                                                                                       \
	"type\tfilesystem\nguid\t7\ncreation\t100\nvolsize\t-\norigin\t-\nreadonly\toff\n"         \
	"sharenfs\toff\nzcsi:members\t-\nzcsi:published\t-\nencryptionroot\tt/p/_received/v\n"
#define ZVOL "type\tvolume\nguid\t7\nvolsize\t1048576\nreadonly\toff\nsharenfs\t-\n"
#define LIST "t/p/_received/v\nt/p/_received/v@a\n"

/* Returns a row of lines "property\tvalue". */
static struct zfs_fields row_of(const char *lines)
{
	struct zfs_value *values = arena_alloc(&arena, (strlen(lines) + 1) * sizeof(*values));
	char *text = arena_strdup(&arena, lines), *line;
	size_t n = 1;

	while ((line = strsep(&text, "\n")) && *line) {
		values[n].property = strsep(&line, "\t");
		values[n++].text = line;
	}
	return (struct zfs_fields){.values = values, .n = n};
}

static bool parse(const char *printed, const char *listed, struct received *ret)
{
	*ret = (struct received){.name = "t/p/_received/v"};
	received_count(listed, ret);
	const struct zfs_fields row = row_of(printed);
	return received_parse(&arena, &row, ret);
}

static void assert_judged(const char *printed, const char *listed, struct received_wish wish,
			  const char *expected)
{
	struct received received;
	struct error err = {0};

	assert_true(parse(printed, listed, &received));
	if (!expected) {
		assert_int_equal(received_check(&received, &wish, &err), 0);
		return;
	}
	assert_int_equal(received_check(&received, &wish, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, expected));
}

static void the_properties_are_read(void **state)
{
	struct received received;

	(void)state;
	assert_true(parse(GOOD, LIST, &received));
	assert_false(received.zvol);
	assert_int_equal(received.guid, 7);
	assert_int_equal(received.creation, 100);
	assert_string_equal(received.root, received.name);
	assert_int_equal(received.snapshots, 1);
	assert_int_equal(received.children, 0);
	assert_true(parse(ZVOL, LIST, &received));
	assert_int_equal(received.volsize, 1048576);
}

static void other_output_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"type\tsnapshot\nguid\t7\n",
		"type\tfilesystem\n",
		"type\tvolume\nguid\t7\nvolsize\t-\n",
	};
	struct received received;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_false(parse(texts[i], LIST, &received));
}

/* A value that a stream has brought looks like the guid and the size of the dataset. */
static void a_value_with_a_line_break_replaces_no_other(void **state)
{
	const char *columns = "guid,volsize,zcsi:root";
	struct received received = {.name = "t/p/_received/v"};
	struct zfs_table table = zfs_table_of(&arena, columns, "t/p/_received/v\t7\t-\t0:0:755\n");

	(void)state;
	assert_true(received_parse(&arena, table.rows, &received));
	assert_int_equal(received.guid, 7);
	table = zfs_table_of(&arena, columns,
			     "t/p/_received/v\t7\t-\tx\\nguid\\t8\\nvolsize\\t4096\n");
	assert_true(table.rows->damaged);
	assert_false(received_parse(&arena, table.rows, &received));
}

static void received_datasets_are_recognised(void **state)
{
	const struct format *zfs = format_find(FORMAT_ZFS), *block = format_find(FORMAT_BLOCK);

	(void)state;
	assert_judged(GOOD, LIST, (struct received_wish){7, 1, zfs}, NULL);
	assert_judged(GOOD, LIST, (struct received_wish){0, 1, zfs}, NULL);
	assert_judged(ZVOL, LIST, (struct received_wish){0, 0, block}, NULL);
	assert_judged(GOOD, LIST, (struct received_wish){8, 1, zfs}, "replaced");
	assert_judged(GOOD, LIST, (struct received_wish){0, 0, zfs}, "no size: add --size 1M");
	assert_judged(GOOD "referenced\t1048577\n", LIST, (struct received_wish){0, 0, zfs},
		      "add --size 4M, or more");
	assert_judged(GOOD, LIST, (struct received_wish){0, 0, block}, "is a filesystem");
	assert_judged(ZVOL, LIST, (struct received_wish){0, 1, zfs}, "is a zvol");
	assert_judged(ZVOL, LIST, (struct received_wish){0, 1, block}, "has its size");
}

/* A repeated adoption accepts the properties that an interrupted one has set. */
static void properties_set_by_an_adoption_are_its_own(void **state)
{
	const struct received_wish wish = {7, 1, format_find(FORMAT_ZFS)};
	struct zfs_fields row = row_of(GOOD "zcsi:root\t1:2:750\nzcsi:parameters\ta_3db\n");
	struct received received;
	struct error err;

	(void)state;
	for (int described = 0; described < 2; described++) {
		received = (struct received){.name = "t/p/_received/v", .described = described};
		received_count(LIST, &received);
		assert_true(received_parse(&arena, &row, &received));
		assert_int_equal(received_check(&received, &wish, &err), described ? 0 : -1);
	}
	row = row_of(GOOD "zcsi:source\tvolume:v\n");
	assert_true(received_parse(&arena, &row, &received));
	assert_int_equal(received_check(&received, &wish, &err), -1);
}

static void other_datasets_cannot_become_volumes(void **state)
{
	const struct received_wish wish = {0, 1, format_find(FORMAT_ZFS)};

	(void)state;
	assert_judged(GOOD, "t/p/_received/v\n", wish, "no snapshot");
	/* The name of another received dataset may begin with the name of this one. */
	assert_judged(GOOD, "t/p/_received/v\nt/p/_received/v2@a\n", wish, "no snapshot");
	assert_judged(GOOD, LIST "t/p/_received/v/w\n", wish, "1 datasets are below");
	assert_judged(GOOD "origin\tt/p/w@a\n", LIST, wish, "zfs promote");
	assert_judged(GOOD "readonly\ton\n", LIST, wish, "readonly=on");
	assert_judged(GOOD "sharenfs\trw\n", LIST, wish, "sharenfs=rw");
	assert_judged(GOOD "zcsi:members\tx\n", LIST, wish, "zcsi:members=x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_properties_are_read),
		cmocka_unit_test(other_output_is_refused),
		cmocka_unit_test(a_value_with_a_line_break_replaces_no_other),
		cmocka_unit_test(received_datasets_are_recognised),
		cmocka_unit_test(other_datasets_cannot_become_volumes),
		cmocka_unit_test(properties_set_by_an_adoption_are_its_own),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
