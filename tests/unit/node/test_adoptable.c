/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of what a dataset must be to become a volume, whether it was received or another program
 * has made it.
 */
#include "node/record/adoptable.h"

#include <string.h>

#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define NAME "t/p/_received/v"
#define GOOD                                                                                       \
	"type\tfilesystem\nguid\t7\ncreation\t100\nvolsize\t-\norigin\t-\nreadonly\toff\n"         \
	"sharenfs\toff\nzcsi:members\t-\nzcsi:published\t-\nencryptionroot\t" NAME "\n"
#define ZVOL    "type\tvolume\nguid\t7\nvolsize\t1048576\nreadonly\toff\nsharenfs\t-\n"
#define LIST    NAME "\n" NAME "@a\n"

/* A dataset of another driver. */
#define FOREIGN "t/csi/v"
#define PLAIN   "type\tfilesystem\nguid\t7\ncreation\t100\nvolsize\t-\norigin\t-\n"

/* Returns a row of lines "property\tvalue" or "property\tvalue\tsource". */
static struct zfs_fields row_of(const char *lines)
{
	struct zfs_value *values = arena_alloc(&arena, (strlen(lines) + 1) * sizeof(*values));
	char *text = arena_strdup(&arena, lines), *line;
	size_t n = 1;

	while ((line = strsep(&text, "\n")) && *line) {
		values[n].property = strsep(&line, "\t");
		values[n].text = strsep(&line, "\t");
		values[n++].source = line ? line : "local";
	}
	return (struct zfs_fields){.values = values, .n = n};
}

static struct adoptable named(const char *name)
{
	return (struct adoptable){.name = name, .parent = "t/p", .volume = "v,v"};
}

static bool parse_of(const char *name, const char *printed, const char *listed,
		     struct adoptable *ret)
{
	*ret = named(name);
	adoptable_count(listed, ret);
	const struct zfs_fields row = row_of(printed);
	return adoptable_parse(&row, ret);
}

static bool parse(const char *printed, const char *listed, struct adoptable *ret)
{
	return parse_of(NAME, printed, listed, ret);
}

/* Check that the dataset can become the wished volume, or fails with the expected text. */
static void assert_verdict(const struct adoptable *found, struct adoption_wish wish,
			   const char *expected)
{
	struct error err = {0};

	if (!expected) {
		assert_int_equal(adoptable_check(found, &wish, &err), 0);
		return;
	}
	assert_int_equal(adoptable_check(found, &wish, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, expected));
}

static void assert_judged(const char *printed, const char *listed, struct adoption_wish wish,
			  const char *expected)
{
	struct adoptable found;

	assert_true(parse(printed, listed, &found));
	assert_verdict(&found, wish, expected);
}

/* Like assert_judged, of FOREIGN with more properties, and a wish of no size and no format. */
static void assert_foreign(const char *printed, const char *expected)
{
	struct adoptable found;

	assert_true(
		parse_of(FOREIGN, arena_printf(&arena, PLAIN "%s", printed), FOREIGN "\n", &found));
	assert_verdict(&found, (struct adoption_wish){0}, expected);
}

static void the_properties_are_read(void **state)
{
	struct adoptable found;

	(void)state;
	assert_true(parse(GOOD, LIST, &found));
	assert_false(found.zvol);
	assert_int_equal(found.guid, 7);
	assert_int_equal(found.creation, 100);
	assert_string_equal(found.root, found.name);
	assert_int_equal(found.snapshots, 1);
	assert_int_equal(found.children, 0);
	assert_true(parse(ZVOL, LIST, &found));
	assert_int_equal(found.volsize, 1048576);
}

static void other_output_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"type\tsnapshot\nguid\t7\n",
		"type\tfilesystem\n",
		"type\tvolume\nguid\t7\nvolsize\t-\n",
	};
	struct adoptable found;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_false(parse(texts[i], LIST, &found));
}

/* A value that a stream has brought looks like the guid and the size of the dataset. */
static void a_value_with_a_line_break_replaces_no_other(void **state)
{
	const char *columns = "guid,volsize,zcsi:root";
	struct adoptable found = named(NAME);
	struct zfs_table table = zfs_table_of(&arena, columns, NAME "\t7\t-\t0:0:755\n");

	(void)state;
	assert_true(adoptable_parse(table.rows, &found));
	assert_int_equal(found.guid, 7);
	table = zfs_table_of(&arena, columns, NAME "\t7\t-\tx\\nguid\\t8\\nvolsize\\t4096\n");
	assert_true(table.rows->damaged);
	assert_false(adoptable_parse(table.rows, &found));
}

static void received_datasets_are_recognised(void **state)
{
	const struct format *zfs = format_find(FORMAT_ZFS), *block = format_find(FORMAT_BLOCK);

	(void)state;
	assert_judged(GOOD, LIST, (struct adoption_wish){7, 1, zfs}, NULL);
	assert_judged(GOOD, LIST, (struct adoption_wish){0, 1, zfs}, NULL);
	assert_judged(ZVOL, LIST, (struct adoption_wish){0, 0, block}, NULL);
	assert_judged(GOOD, LIST, (struct adoption_wish){8, 1, zfs}, "replaced");
	assert_judged(GOOD, LIST, (struct adoption_wish){0, 0, zfs}, "add --size 1M");
	assert_judged(GOOD "referenced\t1048577\n", LIST, (struct adoption_wish){0, 0, zfs},
		      "add --size 4M, or more");
	assert_judged(GOOD, LIST, (struct adoption_wish){0, 0, block}, "is a filesystem");
	assert_judged(ZVOL, LIST, (struct adoption_wish){0, 1, zfs}, "is a zvol");
	assert_judged(ZVOL, LIST, (struct adoption_wish){0, 1, block}, "has its size");
}

/* A repeated adoption accepts the properties that an interrupted one has set. */
static void properties_set_by_an_adoption_are_its_own(void **state)
{
	const struct adoption_wish wish = {7, 1, format_find(FORMAT_ZFS)};

	(void)state;
#define SET "zcsi:root\t1:2:750\nzcsi:parameters\ta_3db\nzcsi:formatted\text4\n"
	assert_judged(GOOD SET, LIST, wish, "a new volume has not");
	assert_judged(GOOD "zcsi:volume\tw,w\n" SET, LIST, wish, "a new volume has not");
	assert_judged(GOOD "zcsi:volume\tv\n" SET, LIST, wish, "a new volume has not");
	assert_judged(GOOD "zcsi:volume\tv,v\tinherited from t/p\n" SET, LIST, wish, "has not");
	assert_judged(GOOD "zcsi:volume\tv,v\n" SET, LIST, wish, NULL);
	assert_judged(GOOD "zcsi:volume\tv,v\nzcsi:source\tvolume:v\n", LIST, wish, "zcsi:source");
#undef SET
}

static void other_datasets_cannot_become_volumes(void **state)
{
	const struct adoption_wish wish = {0, 1, format_find(FORMAT_ZFS)};

	(void)state;
	assert_judged(GOOD, NAME "\n", wish, "no snapshot");
	/* The name of another received dataset may begin with the name of this one. */
	assert_judged(GOOD, NAME "\n" NAME "2@a\n", wish, "no snapshot");
	assert_judged(GOOD, LIST NAME "/w\n", wish, "1 datasets are below");
	assert_judged(GOOD "origin\tt/p/w@a\n", LIST, wish, "zfs promote");
	assert_judged(GOOD "readonly\ton\n", LIST, wish, "'zfs inherit readonly " NAME "'");
	assert_judged(GOOD "sharenfs\trw\n", LIST, wish, "sharenfs=rw");
	assert_judged(GOOD "zcsi:members\tx\n", LIST, wish, "zcsi:members=x");
}

/* Datasets of other programs */

static void only_names_that_can_be_renamed_to_volumes_are_taken(void **state)
{
	static const char *const good[] = {FOREIGN,    "t/v",  "t/p/v", "t/p/v/w",
					   "t/p/_5Fv", "t/pp", NAME,    "t/p/x_received"};
	static const struct {
		const char *name, *text;
	} bad[] = {
		{"", "not the name"},
		{"t/csi/v@a", "not the name"},
		{"t/csi/v/", "not the name"},
		{"-r", "not in the pool 't'"},
		{"u/csi/v", "not in the pool"},
		{"tt/csi", "not in the pool"},
		{"t", "are below 't'"},
		{"t/p", "are below 't/p'"},
		{"t/p/_trash/v-7", "zcsi trash list"},
		{"t/p/_replica", "'t/p/_replica'"},
		{"t/p/_received", "zcsi needs"},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_int_equal(adoptable_check_name("t/p", good[i], &err), 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(adoptable_check_name("t/p", bad[i].name, &err), -1);
		assert_non_null(strstr(err.text, bad[i].text));
	}
	assert_int_equal(adoptable_check_name("t/p/q", "t/p", &err), -1);
	assert_int_equal(adoptable_check_name("t", "t/v", &err), 0);
}

/* A dataset without snapshots, and with the settings of its former place. */
static void a_dataset_of_another_driver_is_taken(void **state)
{
	(void)state;
	assert_foreign("refquota\t1048576\n", NULL);
	assert_foreign("refquota\t1048576\nreadonly\ton\tinherited from t/csi\n", NULL);
	assert_foreign("refquota\t1048576\norigin\tt/csi/w@a\n", NULL);
	assert_foreign("refquota\t1048576\nsharenfs\trw\n", "'zfs inherit sharenfs " FOREIGN "'");
	assert_foreign("refquota\t1048576\nsharesmb\ton\n", "sharesmb=on");
	assert_foreign("refquota\t1048576\ninconsistent\t1\n", "being received");
	assert_foreign("refquota\t0\nquota\t0\nreferenced\t1048577\n", "add --size 4M");
}

static void the_size_is_that_of_the_dataset(void **state)
{
	struct adoptable found;
	const struct adoption_wish none = {0}, wish = {.size = 5};

	(void)state;
	assert_true(parse_of(FOREIGN, PLAIN "refquota\t0\nquota\t8\n", "", &found));
	assert_int_equal(adoptable_size(&found, &none), 8);
	assert_int_equal(adoptable_size(&found, &wish), 5);
	assert_true(parse_of(FOREIGN, PLAIN "refquota\t6\nquota\t8\n", "", &found));
	assert_int_equal(adoptable_size(&found, &none), 6);
	assert_true(parse_of(FOREIGN, ZVOL "refquota\t-\n", "", &found));
	assert_int_equal(adoptable_size(&found, &none), 1048576);
}

static void a_volume_of_zcsi_is_refused(void **state)
{
	struct adoptable found;

	(void)state;
	assert_true(parse_of(FOREIGN, PLAIN "quota\t9\n", "", &found));
	found.ours = "zcsi:version,zcsi:push";
	assert_verdict(&found, (struct adoption_wish){0}, "zcsi:version,zcsi:push");
	assert_verdict(&found, (struct adoption_wish){0}, "'zfs inherit PROPERTY " FOREIGN "'");
	found.described = true;
	assert_verdict(&found, (struct adoption_wish){0}, NULL);
}

static void a_key_that_zfs_keeps_in_its_place_is_refused(void **state)
{
	(void)state;
	assert_foreign("quota\t9\nencryptionroot\t" FOREIGN "\n", NULL);
	assert_foreign("quota\t9\nencryptionroot\tt\n", NULL);
	assert_foreign("quota\t9\nencryptionroot\tt/p\n", NULL);
	assert_foreign("quota\t9\nencryptionroot\tt/csi\n", "zfs change-key");
	assert_foreign("quota\t9\nencryptionroot\tt/csi/w\norigin\tt/csi/w@a\n", "zfs send -w");
}

static void assert_format(const char *type, const char *wish, const char *expected)
{
	const struct adoptable found = named(FOREIGN);
	struct error err;
	const struct format *format =
		adoptable_format(&found, type, wish ? format_find(wish) : NULL, &err);

	if (format)
		assert_string_equal(format->name, expected);
	else
		assert_non_null(strstr(err.text, expected));
}

static void the_format_of_a_zvol_is_what_is_on_it(void **state)
{
	(void)state;
	assert_format("ext4", NULL, "ext4");
	assert_format("xfs", NULL, "xfs");
	assert_format("xfs", "xfs", "xfs");
	assert_format("ext4", "block", "block");
	assert_format("", "block", "block");
	assert_format("", NULL, "contains 'nothing'; add --format block");
	assert_format("dos", NULL, "contains 'dos'; add --format block");
	assert_format("zfs", NULL, "contains 'zfs'");
	assert_format("xfs", "ext4", "contains 'xfs'; leave out --format");
	assert_format("", "ext4", "contains 'nothing'");
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
		cmocka_unit_test(only_names_that_can_be_renamed_to_volumes_are_taken),
		cmocka_unit_test(a_dataset_of_another_driver_is_taken),
		cmocka_unit_test(the_size_is_that_of_the_dataset),
		cmocka_unit_test(a_volume_of_zcsi_is_refused),
		cmocka_unit_test(a_key_that_zfs_keeps_in_its_place_is_refused),
		cmocka_unit_test(the_format_of_a_zvol_is_what_is_on_it),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
