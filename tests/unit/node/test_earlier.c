/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The devices that a zcsi-node which starts gives back: which zvols get theirs, and which errors
 * end the start. The moves that it finds, and what it does with damaged records of moves.
 */
#include "node/move/earlier.h"

#include <string.h>

#include "node/attach/device.h"
#include "node/move/place.h"
#include "node/zfs/zfs_run.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

static const char *printed;       /* lines "name\tproperty\tvalue" */
static const char *shown;         /* datasets with a device shown, a space after each */
static enum error_code fails_for; /* device_show fails so for "t/p/a" */

static const char zvols[] = "t/p/a\tzcsi:members\tl:60:n1,n2\nt/p/a\tvolmode\tnone\n"
			    "t/p/b\tzcsi:members\tl:60:n1,n2\nt/p/b\tvolmode\tdev\n"
			    "t/p/c\tzcsi:members\tl:60:n1,n2\nt/p/c\tvolmode\tnone\n"
			    "t/p/d\tvolmode\tnone\n";

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err);
int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	(void)err;
	assert_string_equal(exec->argv[1], "get");
	*ret_out = mem_strdup(zfs_table_output(&arena, zfs_table_asked(exec->argv), printed));
	return 0;
}

/* The record of a move counts for each copy, and the epoch of the copies is 4. */
static enum place_role unread = PLACE_NONE; /* the role of the dataset with a damaged value */
static bool unreadable;                     /* no copy can be read */

typeof(place_read) __wrap_place_read;

int __wrap_place_read(struct arena *at, const char *parent, const char *id, struct place *ret,
		      struct error *err)
{
	(void)parent;
	if (unreadable && strcmp(id, "a") == 0) {
		ret->role = unread;
		return fail(err, ERR_UNAVAILABLE, "look at zcsi:members of '%s'", id);
	}
	*ret = (struct place){.role = PLACE_COPY, .epoch = 4, .n = 1};
	ret->snapshots = arena_alloc(at, sizeof(*ret->snapshots));
	ret->snapshots[0] = (struct place_snapshot){.to = "n2", .epoch = 5};
	return 0;
}

int __wrap_device_show(const char *dataset, struct error *err);
int __wrap_device_show(const char *dataset, struct error *err)
{
	shown = arena_printf(&arena, "%s%s ", shown, dataset);
	if (fails_for && strcmp(dataset, "t/p/a") == 0)
		return fail(err, fails_for, "zfs says no");
	return 0;
}

static void only_a_device_hidden_by_a_move_is_shown(void **state)
{
	struct error err;

	(void)state;
	printed = zvols;
	shown = "";
	fails_for = ERR_OK;
	assert_int_equal(earlier_show(&arena, "t/p", &err), 0);
	assert_string_equal(shown, "t/p/a t/p/c ");
}

/*
 * A volume that cannot have its device keeps neither other volumes from theirs nor zcsi-node from
 * its start.
 */
static void only_a_pool_that_does_not_answer_is_asked_again(void **state)
{
	struct error err;

	(void)state;
	printed = zvols;
	shown = "";
	fails_for = ERR_PERMISSION_DENIED;
	assert_int_equal(earlier_show(&arena, "t/p", &err), 0);
	assert_string_equal(shown, "t/p/a t/p/c ");
	shown = "";
	fails_for = ERR_UNAVAILABLE;
	assert_int_equal(earlier_show(&arena, "t/p", &err), -1);
	assert_string_equal(shown, "t/p/a ");
}

/* A value of the volume `a` looks like the lines of the zvol `d`, which an operator has hidden. */
static void a_value_with_a_line_break_shows_no_other_device(void **state)
{
	struct error err;

	(void)state;
	printed = "t/p/a\tzcsi:members\tl:60:n1\\nt/p/d\tzcsi:members\tl:60:n1,n2\tlocal\n"
		  "t/p/d\tvolmode\tnone\n";
	shown = "";
	fails_for = ERR_OK;
	assert_int_equal(earlier_show(&arena, "t/p", &err), 0);
	assert_string_equal(shown, "");
}

/* A value of the copy `a` looks like the lines of a copy `b` that was given up. */
static void a_value_with_a_line_break_begins_no_other_move(void **state)
{
	struct earlier *rows;
	struct error err;
	size_t n;

	(void)state;
	printed = "t/p/_replica/a\tzcsi:volume\ta\\nt/p/_replica/b\tzcsi:volume\tb\\n"
		  "t/p/_replica/b@s\tzcsi:moving\tn2:5\n"
		  "t/p/_replica/c\tzcsi:volume\tc\nt/p/_replica/c@s\tzcsi:moving\tn2:5\n"
		  "t/p/_replica/d\tzcsi:volume\td\nt/p/_replica/d@s\tzcsi:moving\t^n2:5\n";
	assert_int_equal(earlier_read(&arena, "t/p", &rows, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_string_equal(rows[0].id, "c");
}

#define COPY(leaf, id)     "t/p/_replica/" leaf "\tzcsi:volume\t" id "\n"
#define MOVING(leaf, mark) "t/p/_replica/" leaf "\tzcsi:moving\t" mark "\n"
#define EPOCH(leaf, epoch) "t/p/_replica/" leaf "\tzcsi:epoch\t" epoch "\n"

/* Read what zfs prints of copies. Returns how many volumes are found; `rows` are these. */
static size_t found_in(const char *text, struct earlier **rows)
{
	struct error err;
	size_t n;

	printed = text;
	assert_int_equal(earlier_read(&arena, "t/p", rows, &n, &err), 0);
	return n;
}

static void a_volume_with_a_damaged_record_is_found_but_not_moved(void **state)
{
	static const struct {
		const char *text, *leaf, *damaged;
	} cases[] = {
		{COPY("a", "a") MOVING("a@s", "n2:\\n5"), "a", "'t/p/_replica/a@s'"},
		{COPY("a", "a") MOVING("a@s", "n2"), "a",
		 "'t/p/_replica/a@s' has a damaged value "
		 "of zcsi:moving;"},
		{COPY("a_5Fb", "x\\n") MOVING("a_5Fb@s", "n2:5"), "a_5Fb", "'t/p/_replica/a_5Fb'"},
		{COPY("a", "_") MOVING("a@s", "n2:5"), "a",
		 "'t/p/_replica/a' has a damaged value of zcsi:volume or zcsi:epoch;"},
		{COPY("a", "a") EPOCH("a", "4x") MOVING("a@s", "n2:5"), "a", "zcsi:epoch;"},
	};
	struct earlier *rows;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(found_in(cases[i].text, &rows), 1);
		assert_null(rows[0].id);
		assert_string_equal(rows[0].leaf, cases[i].leaf);
		assert_non_null(strstr(rows[0].why, cases[i].damaged));
	}
	assert_int_equal(found_in(COPY("a", "a\\n") "t/p/_replica/a@s\tguid\t1\n", &rows), 0);
	assert_int_equal(found_in(COPY("a", "a") EPOCH("a", "5") MOVING("a@s", "n2:5"), &rows), 0);
}

/* Only a pool that cannot be read ends the reading, so that it is repeated. */
static void a_copy_that_cannot_be_read_leaves_the_others(void **state)
{
	static const char two[] =
		COPY("a", "a") MOVING("a@s", "n2:5") COPY("b", "b") MOVING("b@s", "n2:5");
	struct earlier *rows;
	struct error err;
	size_t n;

	(void)state;
	unreadable = true;
	unread = PLACE_COPY;
	assert_int_equal(found_in(two, &rows), 2);
	assert_string_equal(rows[0].leaf, "a");
	assert_string_equal(rows[0].why, "look at zcsi:members of 'a'");
	assert_string_equal(rows[1].id, "b");
	unread = PLACE_PRIMARY;
	assert_int_equal(found_in(two, &rows), 1);
	assert_string_equal(rows[0].id, "b");
	/* The copy is of an earlier volume with the same id. */
	assert_int_equal(found_in(COPY("a", "a") MOVING("a@s", "n2"), &rows), 0);
	assert_int_equal(found_in(COPY("a", "x\\n") MOVING("a@s", "n2:5"), &rows), 0);
	unread = PLACE_NONE;
	assert_int_equal(earlier_read(&arena, "t/p", &rows, &n, &err), -1);
	unreadable = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_device_hidden_by_a_move_is_shown),
		cmocka_unit_test(only_a_pool_that_does_not_answer_is_asked_again),
		cmocka_unit_test(a_value_with_a_line_break_shows_no_other_device),
		cmocka_unit_test(a_value_with_a_line_break_begins_no_other_move),
		cmocka_unit_test(a_volume_with_a_damaged_record_is_found_but_not_moved),
		cmocka_unit_test(a_copy_that_cannot_be_read_leaves_the_others),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
