/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the export table: exports in the syntax of exports(5) and exportfs(8) are parsed and
 * printed.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "node/export/table.h"
#include "tests/arena.h"

/* The second line has the format in which exportfs prints the first one. The lines without a client
 * and an option list are skipped by the parser. */
static const char text[] = "/run/zcsi-nfs/tank/zcsi/a 10.0.0.2(rw,sync,no_subtree_check)\n"
			   "/run/zcsi-nfs/tank/zcsi/a\tfd00::2(ro,sync,wdelay,hide,nocrossmnt)\n"
			   "/srv *.example.org(rw)\n"
			   "# a comment\n"
			   "/srv\n"
			   "/srv \n"
			   "/srv (rw)\n"
			   "\n"
			   "/run/zcsi-nfs/tank/zcsi/b 10.0.0.2(ro)";
static struct export_table parsed(const char *from)
{
	struct export_table table;

	export_table_parse(&arena, from, &table);
	return table;
}

static void rows_are_read(void **state)
{
	struct export_table table = parsed(text);

	(void)state;
	assert_int_equal(table.n, 4);
	assert_string_equal(table.rows[0].path, "/run/zcsi-nfs/tank/zcsi/a");
	assert_string_equal(table.rows[0].client, "10.0.0.2");
	assert_false(table.rows[0].readonly);
	assert_string_equal(table.rows[1].client, "fd00::2");
	assert_true(table.rows[1].readonly);
	assert_int_equal(parsed("").n, 0);
}

static void printed_rows_are_parsed_again(void **state)
{
	struct export_table table = parsed(text), again;
	char *printed = NULL;
	size_t size;
	FILE *out = open_memstream(&printed, &size);

	(void)state;
	export_table_print(&table, out);
	fclose(out);
	again = parsed(printed);
	free(printed);
	assert_int_equal(again.n, table.n);
	for (size_t i = 0; i < table.n; i++)
		assert_true(export_table_has(&again, &table.rows[i]));
}

static void rows_are_distinguished(void **state)
{
	struct export_table table = parsed(text);
	struct export_table one = export_table_of(&arena, &table, table.rows[0].path, false);
	struct export_table others = export_table_of(&arena, &table, table.rows[0].path, true);
	struct export_table both = export_table_join(&arena, &one, &others);
	struct export_row row = table.rows[0];

	(void)state;
	assert_int_equal(one.n, 2);
	assert_int_equal(others.n, 2);
	assert_int_equal(both.n, 4);
	assert_true(export_table_has(&one, &row));
	assert_false(export_table_names(&others, &row));
	row.readonly = true;
	assert_false(export_table_has(&one, &row));
	assert_true(export_table_names(&one, &row));
	assert_string_equal(export_operand(&arena, &one.rows[0]),
			    "10.0.0.2:/run/zcsi-nfs/tank/zcsi/a");
	assert_string_equal(export_operand(&arena, &one.rows[1]),
			    "[fd00::2]:/run/zcsi-nfs/tank/zcsi/a");
	assert_ptr_equal(strstr(export_options(&one.rows[0]), "rw,"), export_options(&one.rows[0]));
	assert_ptr_equal(strstr(export_options(&row), "ro,"), export_options(&row));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_are_read, arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(printed_rows_are_parsed_again, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(rows_are_distinguished, arena_setup,
						arena_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
