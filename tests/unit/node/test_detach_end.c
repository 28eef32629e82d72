/* SPDX-License-Identifier: MPL-2.0 */
/* A zcsi-node that starts ends the detach that an earlier one has begun. */
#include "tests/cmocka.h"

#include <string.h>

#include "node/change/detach.h"
#include "node/copy/history.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "tests/arena.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

static struct node node = {.id = "n1"};
static const char *marks;   /* the marks of datasets: lines "name\tproperty\tvalue" */
static const char *changes; /* the changes of the pool, each with a space after it */
static bool exchanged;      /* the copy has become the volume */

static int note(const char *what, const char *name)
{
	changes = arena_printf(&arena, "%s%s:%s ", changes, what, name);
	return 0;
}

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	const char *out = "";

	(void)err;
	if (strcmp(exec->argv[1], "get") == 0)
		out = zfs_table_output(&arena, zfs_table_asked(exec->argv), marks);
	*ret_out = mem_strdup(out);
	return 0;
}

typeof(zfs_guid) __wrap_zfs_guid;

int __wrap_zfs_guid(const char *name, uint64_t *ret, struct error *err)
{
	assert_string_equal(name, "t/p/copy");
	if (!exchanged)
		return fail(err, ERR_NOT_FOUND, "it does not exist");
	*ret = 8;
	return 0;
}

typeof(zfs_is_missing) __wrap_zfs_is_missing;

int __wrap_zfs_is_missing(const char *parent, struct error *err)
{
	assert_string_equal(parent, "t/p");
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

typeof(detach_read) __wrap_detach_read;

int __wrap_detach_read(struct arena *at, const char *name, char **ret_origin, char **ret_mark,
		       struct error *err)
{
	(void)name, (void)err;
	*ret_origin = arena_strdup(at, "");
	*ret_mark = arena_strdup(at, "7");
	return 0;
}

typeof(history_read) __wrap_history_read;

int __wrap_history_read(struct arena *at, const char *name, struct history *ret, struct error *err)
{
	(void)at, (void)name, (void)err;
	*ret = (struct history){.n = 0};
	return 0;
}

typeof(zfs_rename) __wrap_zfs_rename;

int __wrap_zfs_rename(const char *name, const char *new_name, struct error *err)
{
	(void)err;
	assert_string_equal(name, "t/p/_detach/copy");
	exchanged = true;
	return note("rename", new_name);
}

typeof(zfs_set) __wrap_zfs_set;

int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *err)
{
	(void)name, (void)properties, (void)err;
	return 0;
}

typeof(zfs_inherit) __wrap_zfs_inherit;

int __wrap_zfs_inherit(const char *name, const char *property, struct error *err)
{
	(void)err;
	return strcmp(property, DETACH_PROPERTY) == 0 ? note("unmark", name) : 0;
}

typeof(catalog_reread) __wrap_catalog_reread;

int __wrap_catalog_reread(struct catalog *of, int64_t deadline, const char *name, struct error *err)
{
	(void)of, (void)deadline, (void)err;
	return note("reread", name);
}

/*
 * The volume is read as soon as the copy is renamed to it; no reading of the whole pool is waited
 * for.
 */
static void a_copy_becomes_the_volume_that_is_missing(void **state)
{
	struct error err;

	(void)state;
	node.catalog = catalog_new("t/p", 0);
	changes = "";
	marks = "t/p/_trash/old-copy-7\tzcsi:volume\tcopy\n"
		"t/p/_trash/old-copy-7\tzcsi:detach\t7\n";
	assert_int_equal(detach_end_earlier(&node, &arena, 0, &err), 0);
	assert_string_equal(changes, "rename:t/p/copy reread:t/p/copy "
				     "unmark:t/p/_trash/old-copy-7 unmark:t/p/copy ");
	changes = "";
	assert_int_equal(detach_end_earlier(&node, &arena, 0, &err), 0);
	assert_string_equal(changes, "");
	catalog_free(node.catalog);
}

/* The owner of the volume `a` has set zcsi:volume to lines that look like a mark of `copy`. */
static void a_value_with_a_line_break_is_no_mark_of_another_volume(void **state)
{
	struct error err;

	(void)state;
	node.catalog = catalog_new("t/p", 0);
	exchanged = false;
	changes = "";
	marks = "t/p/a\tzcsi:volume\ta\\nt/p/_trash/old-copy-7\tzcsi:volume\tcopy\\n"
		"t/p/_trash/old-copy-7\tzcsi:detach\t7\n";
	assert_int_equal(detach_end_earlier(&node, &arena, 0, &err), 0);
	assert_string_equal(changes, "");
	catalog_free(node.catalog);
}

/* The volume is missing, so it may only be that the copy was not renamed yet. */
static void a_damaged_former_dataset_is_waited_for_beside_its_copy(void **state)
{
	static const char former[] = "t/p/_trash/old-copy-7\tzcsi:volume\tcopy\n"
				     "t/p/_trash/old-copy-7\tzcsi:detach\t7\\n\n";
	struct error err;

	(void)state;
	node.catalog = catalog_new("t/p", 0);
	changes = "";
	marks = former;
	assert_int_equal(detach_end_earlier(&node, &arena, 0, &err), 0);
	marks = arena_printf(&arena, "t/p/_detach/copy\tzcsi:volume\t-\n%s", former);
	assert_int_equal(detach_end_earlier(&node, &arena, 0, &err), -1);
	assert_non_null(strstr(err.text, "'t/p/_trash/old-copy-7'"));
	assert_non_null(strstr(err.text, "zcsi:volume or zcsi:detach;"));
	assert_string_equal(changes, "");
	catalog_free(node.catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_becomes_the_volume_that_is_missing),
		cmocka_unit_test(a_value_with_a_line_break_is_no_mark_of_another_volume),
		cmocka_unit_test(a_damaged_former_dataset_is_waited_for_beside_its_copy),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
