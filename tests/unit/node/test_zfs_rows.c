/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of hostile output of `zfs get`: a user who may set a property of one dataset can make no
 * other dataset appear or disappear.
 */
#include "tests/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "node/record/listing.h"
#include "tests/arena.h"
#include "tests/zfs_get.h"

#define VOLUME(id)                                                                                 \
	"t/p/" id "\ttype\tfilesystem\t-\nt/p/" id "\tguid\t7\t-\nt/p/" id                         \
	"\tzcsi:version\t1\tlocal\nt/p/" id "\tzcsi:volume\t" id "\tlocal\n"
#define PARENT "t/p\ttype\tfilesystem\t-\n"

static const char *properties(void)
{
	return zfs_row_properties(&arena, MARKER, true);
}

/* Returns the output of `zfs get` for one name: these lines, and a "-" for each other property. */
static char *row(const char *lines)
{
	return zfs_get_complete(&arena, lines);
}

/* Returns the row with the "-" of one property replaced. */
static char *with(const char *row, const char *property, const char *value, const char *source)
{
	const char *unset = arena_printf(&arena, "\t%s\t-\t-\n", property);
	const char *at = strstr(row, unset);

	assert_non_null(at);
	return arena_printf(&arena, "%.*s\t%s\t%s\t%s\n%s", (int)(at - row), row, property, value,
			    source, at + strlen(unset));
}

/* until() returns the part of the row before this property's line, after() the part behind it. */
static char *until(const char *row, const char *property)
{
	const char *at = strstr(row, arena_printf(&arena, "\t%s\t", property));

	while (at[-1] != '\n')
		at--;
	return arena_printf(&arena, "%.*s", (int)(at - row), row);
}

static char *after(const char *row, const char *property)
{
	const char *at = strstr(row, arena_printf(&arena, "\t%s\t", property));

	return arena_strdup(&arena, strchr(at, '\n') + 1);
}

static bool parse(const char *text, struct listing *ret)
{
	return listing_parse(&arena, "t/p", properties(), arena_strdup(&arena, text), ret);
}

static bool lists(const struct listing *listing, const char *id)
{
	for (size_t i = 0; i < listing->n_datasets; i++)
		if (!strcmp(listing->datasets[i]->id, id))
			return true;
	return false;
}

/* Each value is one that the owner of t/p/a may have set. A dataset `ghost` does not exist. */
static void a_value_with_a_line_break_damages_its_own_dataset_only(void **state)
{
	const char *ghost = row(VOLUME("ghost"));
	const char *const values[] = {
		"x\ny",
		"\n",
		arena_printf(&arena, "x\tlocal\n%st/p/a\tzcsi:source\tx", ghost),
		arena_printf(&arena, "x\tlocal\n%s%st/p/a\tzcsi:source\tx",
			     after(row(VOLUME("a")), "zcsi:source"), after(ghost, MARKER)),
		arena_printf(&arena, "x\tlocal\n%sx", until(ghost, "type")),
		"x\tlocal\nt/p/b\tzcsi:version\t2\tlocal\nt/p/a\tzcsi:source\tx",
	};
	struct listing listing;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		char *value = strdup(values[i]), *at;
		/*
		 * A user who sets the value cannot know the marker of this reading, so replace it
		 * by another.
		 */
		while ((at = strstr(value, MARKER)))
			at[strlen("zcsi:")] = 'n';
		char *text = arena_printf(&arena, "%s%s%s%s", row(PARENT),
					  with(row(VOLUME("a")), "zcsi:source", value, "local"),
					  row(VOLUME("b")), row(VOLUME("c")));
		assert_true(parse(text, &listing));
		assert_int_equal(listing.n_datasets, 2);
		assert_true(lists(&listing, "b") && lists(&listing, "c"));
		assert_true(listing_is_damaged(&listing, "t/p/a"));
		assert_int_equal(listing.n_damaged, 1);
		assert_true(listing.parent);
		free(value);
	}
}

static void a_value_with_another_control_character_damages_its_dataset(void **state)
{
	static const char *const values[] = {"a\tb", "\033[2J", "\x7f", "\xc2\x9b"};
	struct listing listing;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		char *text = arena_printf(&arena, "%s%s%s", row(PARENT),
					  with(row(VOLUME("a")), "zcsi:root", values[i], "local"),
					  row(VOLUME("b")));
		assert_true(parse(text, &listing));
		assert_true(listing.n_datasets == 1 && lists(&listing, "b"));
		assert_true(listing_is_damaged(&listing, "t/p/a"));
	}
}

/*
 * A line break in an inherited property damages the datasets that inherit it; the parent has it
 * too, so that the reading fails as a whole (node/zfs/zfs_read.c).
 */
static void an_inherited_line_break_damages_the_parent_too(void **state)
{
	const char *value = "x\ny";
	struct listing listing;
	char *text =
		arena_printf(&arena, "%s%s", with(row(PARENT), "zcsi:source", value, "local"),
			     with(row(VOLUME("a")), "zcsi:source", value, "inherited from t/p"));

	(void)state;
	assert_true(parse(text, &listing));
	assert_false(listing.parent);
	assert_true(listing_is_damaged(&listing, "t/p"));
	assert_int_equal(listing.n_datasets, 0);
}

/*
 * The values were set by a user who had read the marker from the arguments of the running zfs. All
 * of the output is rejected, and nothing is reported as missing.
 */
static void output_with_a_forged_first_line_is_rejected(void **state)
{
	const char *a = row(VOLUME("a")), *ghost = row(VOLUME("ghost"));
	const char *rest = after(a, "zcsi:source");
	const char *const values[] = {
		/*
		 * values that forge a whole dataset `ghost`, behind the lines of `a` or before
		 * those of b
		 */
		arena_printf(&arena, "x\tlocal\n%s%sx", rest, ghost),
		arena_printf(&arena, "x\tlocal\n%s%s%st/p/a\tzcsi:source\tx", rest, ghost,
			     until(a, "zcsi:source")),
		arena_printf(&arena, "x\tlocal\n%s%st/p/ghost\tzcsi:source\tx", rest,
			     until(ghost, "zcsi:source")),
		arena_printf(&arena, "x\tlocal\n%s%st/p/b\tzcsi:source\tx", rest,
			     until(row(VOLUME("b")), "zcsi:source")),
		/* a value that forges the dataset b a second time */
		arena_printf(&arena, "x\tlocal\n%s%s%st/p/a\tzcsi:source\tx", rest,
			     row(VOLUME("b")), until(a, "zcsi:source")),
		arena_printf(&arena, "x\nt/p/ghost\t%s\tset\tlocal\ny", MARKER),
	};
	struct listing listing;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++)
		assert_false(parse(arena_printf(&arena, "%s%s%s", row(PARENT),
						with(a, "zcsi:source", values[i], "local"),
						row(VOLUME("b"))),
				   &listing));
}

/* The owner of two datasets forges the first line of one in the other, and sets the marker. */
static void output_with_the_marker_set_is_rejected(void **state)
{
	const char *c = row(VOLUME("c"));
	const char *forged =
		arena_printf(&arena, "x\tlocal\n%s%st/p/c\t" MARKER "\t-\t-\nx",
			     after(row(VOLUME("a")), "zcsi:source"), row(VOLUME("ghost")));
	struct listing listing;

	(void)state;
	assert_false(parse(arena_printf(&arena, "%s%s%s", row(PARENT),
					with(row(VOLUME("a")), "zcsi:source", forged, "local"),
					with(c, MARKER, "x", "local")),
			   &listing));
}

static void incomplete_output_is_rejected(void **state)
{
	const char *a = row(VOLUME("a"));
	struct listing listing;

	(void)state;
	assert_true(parse("", &listing));
	assert_true(parse(a, &listing));
	assert_false(parse(until(a, "type"), &listing));
	assert_false(parse(after(a, MARKER), &listing));
	assert_false(parse(arena_printf(&arena, "%s%s", a, a), &listing));
	assert_false(parse("a warning\n", &listing));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_with_a_line_break_damages_its_own_dataset_only),
		cmocka_unit_test(a_value_with_another_control_character_damages_its_dataset),
		cmocka_unit_test(an_inherited_line_break_damages_the_parent_too),
		cmocka_unit_test(output_with_a_forged_first_line_is_rejected),
		cmocka_unit_test(output_with_the_marker_set_is_rejected),
		cmocka_unit_test(incomplete_output_is_rejected),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
