/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the reader of user properties: no value makes a row of another name, and only what is
 * set on a name itself counts.
 */
#include "node/zfs/zfs_table.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "node/zfs/fuse.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "tests/arena.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

static const char *printed; /* lines "name\tproperty\tvalue" */
static const char *raw;     /* the output of zfs instead, or NULL */
static bool missing;        /* zfs says that a name does not exist */
static int64_t timeout_ms;  /* the timeout of the last program; 0: that of other programs */
static const char *const *names = (const char *const[]){"t/p/a", "t/p/b", NULL};

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	bool plain = strcmp(exec->argv[6], "value") == 0; /* the program of zfs_members() */

	timeout_ms = exec->timeout_ms;
	*ret_out = plain ? mem_strdup(printed)
		   : raw ? mem_strdup(raw)
			 : mem_strdup(zfs_table_reply(&arena, exec->argv, printed));
	return missing ? fail(err, ERR_NOT_FOUND, "it does not exist") : 0;
}

static int read_table(const char *lines, struct zfs_table *ret, struct error *err)
{
	const struct zfs_query query = {.properties = "guid,zcsi:volume,a:b", .names = names};

	printed = lines;
	return zfs_table_read(&arena, &query, ret, err);
}

static void a_row_has_what_is_set_on_its_name(void **state)
{
	struct zfs_table table;
	struct error err;

	(void)state;
	assert_int_equal(read_table("t/p/a\tguid\t7\nt/p/a\tzcsi:volume\ta\nt/p/a@s\tguid\t8\n"
				    "t/p/a@s\tzcsi:volume\t^a\nt/p/a@s\ta:b\tx\ty\n",
				    &table, &err),
			 0);
	assert_int_equal(table.n, 2);
	assert_string_equal(zfs_fields_text(&table.rows[0], "guid"), "7");
	assert_string_equal(zfs_fields_text(&table.rows[0], "zcsi:volume"), "a");
	assert_string_equal(zfs_fields_text(&table.rows[0], "a:b"), "");
	assert_string_equal(zfs_fields_text(&table.rows[0], "type"), "filesystem");
	assert_string_equal(table.rows[1].name, "t/p/a@s");
	assert_string_equal(zfs_fields_text(&table.rows[1], "zcsi:volume"), "");
	assert_string_equal(zfs_fields_find(&table.rows[1], "zcsi:volume")->text, "a");
	assert_string_equal(zfs_fields_text(&table.rows[1], "a:b"), "x\ty");
	assert_null(zfs_fields_find(&table.rows[1], "zcsi:other"));
}

static void a_line_break_damages_its_own_row_only(void **state)
{
	struct zfs_table table;
	struct error err;

	(void)state;
	assert_int_equal(read_table("t/p/a\tguid\t7\nt/p/a\tzcsi:volume\ta\\nt/p/b\tguid\t9\t-\n"
				    "t/p/b\tguid\t8\nt/p/b\tzcsi:volume\tb\n",
				    &table, &err),
			 0);
	assert_int_equal(table.n, 2);
	assert_true(table.rows[0].damaged);
	assert_string_equal(zfs_fields_text(&table.rows[0], "guid"), "");
	assert_string_equal(zfs_fields_text(&table.rows[1], "guid"), "8");
	assert_int_equal(zfs_table_check(&table, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/a'"));
}

static char *logged; /* the lines of the log, as "message dataset" */

typeof(log_write) __wrap_log_write;

void __wrap_log_write(enum log_level level, const struct log_field *fields, unsigned n_fields)
{
	assert_int_equal(level, LOG_WARN);
	assert_int_equal(n_fields, 3);
	assert_non_null(strstr(fields[2].text, "control character"));
	logged = arena_printf(&arena, "%s%s %s\n", logged, fields[0].text, fields[1].text);
}

/* Returns what is logged of a table with these lines. */
static const char *warned(const char *lines, const char *message)
{
	struct zfs_table table;
	struct error err;

	logged = arena_strdup(&arena, "");
	assert_int_equal(read_table(lines, &table, &err), 0);
	zfs_table_warn(&table, message);
	return logged;
}

static void a_damaged_dataset_is_logged_once_until_it_is_mended(void **state)
{
	static const char mended[] = "t/p/a\tguid\t7\nt/p/a@s\tguid\t8\n",
			  damaged[] = "t/p/a\tguid\t7\nt/p/a@s\ta:b\tx\\n\nt/p/b\ta:b\tx\\n\n"
				      "t/p/b@s\ta:b\tx\\n\n";

	(void)state;
	assert_string_equal(warned(mended, "left out"), "");
	assert_string_equal(warned(damaged, "left out"), "left out t/p/a\nleft out t/p/b\n");
	assert_string_equal(warned(damaged, "left out"), "");
	assert_string_equal(warned(damaged, "skipped"), "skipped t/p/a\nskipped t/p/b\n");
	assert_string_equal(warned(mended, "left out"), "");
	assert_string_equal(warned(damaged, "left out"), "left out t/p/a\n");
}

/* More damaged datasets than are remembered are logged again rather than not at all. */
static void a_new_damaged_dataset_is_never_left_out_of_the_log(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		const char *name = arena_printf(&arena, "t/p/c%d", i);
		assert_string_equal(warned(arena_printf(&arena, "%s\ta:b\tx\\n\n", name), "left"),
				    arena_printf(&arena, "left %s\n", name));
	}
}

static void a_tab_is_for_other_programs_only(void **state)
{
	struct zfs_table table;
	struct error err;

	(void)state;
	assert_int_equal(read_table("t/p/a\tzcsi:volume\ta\tb\nt/p/b\ta:b\ta\033\n", &table, &err),
			 0);
	assert_true(table.rows[0].damaged && table.rows[1].damaged);
}

static void a_name_that_does_not_exist_leaves_the_others(void **state)
{
	struct zfs_table table;
	struct error err;

	(void)state;
	missing = true;
	assert_int_equal(read_table("t/p/b\tguid\t8\n", &table, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(table.n, 1);
	missing = false;
}

/*
 * A zfs that reads many snapshots and has only the timeout of other programs would count as hung,
 * and all calls would be refused.
 */
static void many_snapshots_may_be_read_for_long(void **state)
{
	static const char *const words[] = {"-d", "1", NULL};
	struct zfs_query query = {.properties = "guid", .names = names};
	struct zfs_table table;
	struct error err;
	char *list;

	(void)state;
	printed = "t/p/a\tguid\t7\n";
	assert_int_equal(zfs_table_read(&arena, &query, &table, &err), 0);
	assert_int_equal(timeout_ms, 0);
	query.words = words;
	assert_int_equal(zfs_table_read(&arena, &query, &table, &err), 0);
	assert_int_equal(timeout_ms, 600000);
	assert_int_equal(zfs_table_names(&arena, NULL, "t/p/a", &list, &err), 0);
	assert_int_equal(timeout_ms, 0);
	assert_int_equal(zfs_table_names(&arena, words, "t/p/a", &list, &err), 0);
	assert_int_equal(timeout_ms, 600000);
}

static void a_property_of_many_snapshots_is_listed_once(void **state)
{
	struct error err;
	char *list;

	(void)state;
	printed = "t/p/a@1\tb:b\t1\nt/p/a@1\ta:a\t1\nt/p/a@2\ta:a\t2\nt/p/a@2\tb:b\t2\n"
		  "t/p/a@2\ta:ab\t2\n";
	assert_int_equal(zfs_table_names(&arena, NULL, "t/p/a", &list, &err), 0);
	assert_string_equal(list, "b:b,a:a,a:ab");
	printed = "";
	assert_int_equal(zfs_table_names(&arena, NULL, "t/p/a", &list, &err), 0);
	assert_string_equal(list, "");
}

/* Linux permits 128 KiB for an argument of a program. */
static void a_list_of_properties_has_an_end(void **state)
{
	auto_free char *many = NULL;
	struct error err;
	size_t size;
	char *list;

	(void)state;
	FILE *lines = open_memstream(&many, &size);
	for (int i = 0; i < 8193; i++)
		fprintf(lines, "a:%05d\na:00000\n", i);
	fclose(lines);
	raw = many;
	assert_int_equal(zfs_table_names(&arena, NULL, "t/p/a", &list, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "'t/p/a' has more than 64 KiB"));
	many[size - strlen("a:08192\na:00000\n")] = '\0';
	assert_int_equal(zfs_table_names(&arena, NULL, "t/p/a", &list, &err), 0);
	assert_int_equal(strlen(list), 65535);
	raw = NULL;
}

/* Returns what zfs prints of a volume with many snapshots. */
static char *many_snapshots(unsigned n)
{
	char *text;
	size_t size;

	FILE *out = open_memstream(&text, &size);
	for (unsigned i = 0; i < n; i++)
		fprintf(out,
			"t/p/v@%1$05u\tzcsi:m\t-\t-\nt/p/v@%1$05u\tguid\t%1$u\t-\n"
			"t/p/v@%1$05u\tused\t0\t-\nt/p/v@%1$05u\tavailable\t-\t-\n"
			"t/p/v@%1$05u\tzcsi:members\t00112233aabbccdd:60:n1\tinherited from t/p/v\n"
			"t/p/v@%1$05u\tzcsi:snapshot\t-\t-\nt/p/v@%1$05u\tzcsi:size\t-\tlocal\n"
			"t/p/v@%1$05u\ttype\tsnapshot\t-\n",
			i);
	fclose(out);
	return text;
}

/* A call may keep a table as long as it sends a stream, and a volume has 65,000 snapshots. */
static void a_table_keeps_only_what_its_names_have(void **state)
{
	auto_arena struct arena own = {.cap = SIZE_MAX};
	auto_free char *text = many_snapshots(1000);
	size_t size = strlen(text);
	struct zfs_table table;

	(void)state;
	assert_true(zfs_table_parse(&own,
				    "zcsi:m,guid,used,available,zcsi:members,zcsi:snapshot,"
				    "zcsi:size,type",
				    text, &table));
	memset(text, 0, size);
	assert_int_equal(table.n, 1000);
	const struct zfs_fields *row = &table.rows[998], *next = &table.rows[999];
	assert_string_equal(row->name, "t/p/v@00998");
	assert_string_equal(zfs_fields_text(row, "guid"), "998");
	assert_string_equal(zfs_fields_text(next, "guid"), "999");
	assert_string_equal(zfs_fields_text(row, "type"), "snapshot");
	assert_string_equal(zfs_fields_text(row, "zcsi:snapshot"), "");
	assert_null(zfs_fields_find(row, "zcsi:snapshot"));
	assert_string_equal(zfs_fields_find(row, "zcsi:size")->text, "-");
	assert_ptr_equal(zfs_fields_find(row, "zcsi:members")->text,
			 zfs_fields_find(next, "zcsi:members")->text);
	assert_true(own.used < size);
}

static void one_name_is_read_whole_or_not_at_all(void **state)
{
	struct zfs_fields row;
	struct error err;

	(void)state;
	printed = "t/p/a\tguid\t7\n";
	assert_int_equal(zfs_table_one(&arena, "t/p/a", "guid", &row, &err), 0);
	assert_string_equal(zfs_fields_text(&row, "guid"), "7");
	assert_int_equal(zfs_table_one(&arena, "t/p/b", "guid", &row, &err), -1);
	printed = "t/p/a\tzcsi:volume\ta\\nb\n";
	assert_int_equal(zfs_table_one(&arena, "t/p/a", "guid,zcsi:volume", &row, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/a'"));
}

/* Setting properties, and restoring those that were set before a failure */

static const char *changes; /* the programs that change the pool, with a space after each word */

typeof(fuse_change) __wrap_fuse_change;
typeof(zfs_is_the_kernels) __wrap_zfs_is_the_kernels;

int __wrap_fuse_change(const char *const *argv, struct error *err)
{
	for (const char *const *word = argv + 1; *word; word++)
		changes = arena_printf(&arena, "%s%s ", changes, *word);
	return fail(err, ERR_INTERNAL, "zfs says no");
}

bool __wrap_zfs_is_the_kernels(void)
{
	return true;
}

static int set_two(struct error *err)
{
	struct zfs_properties properties = {.n = 0};

	changes = "";
	zfs_property(&properties, "compression", "lz4");
	zfs_property(&properties, "a:b", "new");
	return zfs_set("t/p/a", &properties, err);
}

static void what_was_set_is_restored_whole(void **state)
{
	struct error err;

	(void)state;
	printed = "t/p/a\tcompression\t^off\nt/p/a\ta:b\tone\ttwo\n";
	assert_int_equal(set_two(&err), -1);
	assert_string_equal(changes, "set compression=lz4 a:b=new t/p/a "
				     "inherit compression t/p/a set a:b=one\ttwo t/p/a ");
	assert_string_equal(err.text, "zfs says no");
	printed = "t/p/a\tcompression\tlz4\n";
	assert_int_equal(set_two(&err), -1);
	assert_string_equal(changes, "set compression=lz4 a:b=new t/p/a "
				     "set compression=lz4 t/p/a inherit a:b t/p/a ");
	printed = "t/p/a\tcompression\t^off\nt/p/a\ta:b\tone\\ntwo\n";
	assert_int_equal(set_two(&err), -1);
	assert_string_equal(changes, "");
	assert_non_null(strstr(err.text, "'t/p/a'"));
}

static void members_with_a_line_break_are_none(void **state)
{
	auto_free char *first = NULL, *second = NULL;
	struct error err;

	(void)state;
	printed = "l:60:n1,n2\n";
	assert_int_equal(zfs_members("t/p/a", &first, &err), 0);
	assert_string_equal(first, "l:60:n1,n2");
	printed = "l:60:n1,n2\nx\n";
	assert_int_equal(zfs_members("t/p/a", &second, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/a'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_what_is_set_on_its_name),
		cmocka_unit_test(a_line_break_damages_its_own_row_only),
		cmocka_unit_test(a_damaged_dataset_is_logged_once_until_it_is_mended),
		cmocka_unit_test(a_new_damaged_dataset_is_never_left_out_of_the_log),
		cmocka_unit_test(a_tab_is_for_other_programs_only),
		cmocka_unit_test(a_name_that_does_not_exist_leaves_the_others),
		cmocka_unit_test(many_snapshots_may_be_read_for_long),
		cmocka_unit_test(a_property_of_many_snapshots_is_listed_once),
		cmocka_unit_test(a_list_of_properties_has_an_end),
		cmocka_unit_test(a_table_keeps_only_what_its_names_have),
		cmocka_unit_test(one_name_is_read_whole_or_not_at_all),
		cmocka_unit_test(what_was_set_is_restored_whole),
		cmocka_unit_test(members_with_a_line_break_are_none),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
