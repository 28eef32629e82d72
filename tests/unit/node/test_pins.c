/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the snapshots and bookmarks that a volume keeps for its copies. A script in place of zfs
 * writes down its command lines.
 */
#include "node/copy/pins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

#define GIB  ((int64_t)1 << 30)
#define HOUR 3600
#define DAY  (24 * HOUR)
#define ONE  "_repl-2026-01-01T00:00:00.000000Z"
#define TWO  "_repl-2026-01-02T00:00:00.000000Z"

static char folder[] = "/tmp/zcsi-pins-XXXXXX";

static const char *in_folder(const char *name)
{
	return arena_printf(&arena, "%s/%s", folder, name);
}

static int group_setup(void **state)
{
	static const char script[] = "#!/bin/sh\necho \"$*\" >>\"${0%/*}/runs\"\n";
	struct error err;

	arena_setup(state);
	if (log_setup("error", "logfmt", &err) < 0 || !mkdtemp(folder))
		return -1;
	FILE *file = fopen(in_folder("zfs"), "we");
	if (!file || fputs(script, file) < 0 || fclose(file) != 0 ||
	    chmod(in_folder("zfs"), 0755) < 0)
		return -1;
	return setenv("PATH", arena_printf(&arena, "%s:%s", folder, getenv("PATH")), 1);
}

static int group_teardown(void **state)
{
	unlink(in_folder("zfs"));
	unlink(in_folder("runs"));
	rmdir(folder);
	return arena_teardown(state);
}

/* Assert that just these commands were run since the last call, a line each. */
static void assert_ran(const char *expected)
{
	char text[2048];
	FILE *file = fopen(in_folder("runs"), "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[n] = '\0';
	if (file)
		fclose(file);
	unlink(in_folder("runs"));
	assert_string_equal(text, expected);
}

static struct history parse(const char *text)
{
	struct history history;

	assert_true(history_parse(&arena, arena_strdup(&arena, text), &history));
	return history;
}

static bool too_much(const struct point *snapshot, int64_t size, int64_t idle, int64_t most,
		     int64_t now)
{
	const struct pins_bounds bounds = {.size = size, .idle = idle, .most = most};

	return pins_too_much(snapshot, &bounds, now);
}

static void a_snapshot_goes_after_a_day_or_earlier_if_it_is_large(void **state)
{
	const struct point small = {.creation = 0, .used = GIB / 10};
	const struct point large = {.creation = 0, .used = GIB / 10 + 1};

	(void)state;
	assert_false(too_much(&small, GIB, DAY - 1, 0, DAY - 1));
	assert_true(too_much(&small, GIB, DAY, 0, DAY));
	assert_false(too_much(&large, GIB, HOUR - 1, 0, HOUR - 1));
	assert_true(too_much(&large, GIB, HOUR, 0, HOUR));
	assert_false(too_much(&large, 0, HOUR, 0, HOUR));
}

static void pin_limit_replaces_the_day(void **state)
{
	const struct point small = {.creation = 0, .used = GIB / 10};

	(void)state;
	assert_false(too_much(&small, GIB, 60, 61, 60));
	assert_true(too_much(&small, GIB, 60, 60, 60));
	assert_false(too_much(&small, GIB, 2 * DAY, 3 * DAY, 2 * DAY));
	assert_false(pins_may(&(struct pins_bounds){.idle = 60}));
	assert_true(pins_may(&(struct pins_bounds){.idle = 60, .most = 60}));
	assert_true(pins_may(&(struct pins_bounds){.idle = HOUR, .most = 3 * DAY}));
}

static void a_snapshot_for_a_copy_that_gets_data_stays(void **state)
{
	const struct point young = {.creation = 10 * DAY, .used = GIB};

	(void)state;
	assert_false(too_much(&young, GIB, 5 * DAY, 0, 10 * DAY + 600));
	assert_false(too_much(&young, GIB, 0, 0, 20 * DAY));
}

static void a_bookmark_stays_of_each_snapshot_that_goes(void **state)
{
	const struct history history = parse("t/p/v@asked\t1\t100\t0\n"
					     "t/p/v@" ONE "\t2\t200\t5\n"
					     "t/p/v#_repl-n2\t2\t200\t-\n"
					     "t/p/v@" TWO "\t3\t300\t5\n");

	(void)state;
	pins_limit(&arena, &history, &(struct pins_bounds){.size = GIB, .idle = HOUR});
	assert_ran("");
	pins_limit(&arena, &history, &(struct pins_bounds){.size = GIB, .idle = DAY});
	assert_ran("bookmark t/p/v@" ONE " t/p/v#_repl-:2\n"
		   "destroy t/p/v@" ONE "\n"
		   "bookmark t/p/v@" TWO " t/p/v#_repl-:3\n"
		   "destroy t/p/v@" TWO "\n");
}

static void leftovers_of_failures_are_destroyed(void **state)
{
	const struct history history = parse("t/p/v@_repl-a\t1\t100\t0\n"
					     "t/p/v@_repl-b\t2\t200\t0\n"
					     "t/p/v@asked\t3\t300\t0\n"
					     "t/p/v@_repl-c\t4\t400\t0\n");

	(void)state;
	const struct pins_need need = {.heard = true, .has = 1};
	pins_thin(&history, &need, 1);
	assert_ran("destroy t/p/v@_repl-b\n");
}

static void a_snapshot_that_any_copy_needs_stays(void **state)
{
	const struct history history = parse("t/p/v@_repl-a\t1\t100\t0\n"
					     "t/p/v@_repl-b\t2\t200\t0\n"
					     "t/p/v@_repl-c\t3\t300\t0\n"
					     "t/p/v@_repl-d\t4\t400\t0\n");
	const struct pins_need list[] = {{.heard = true, .has = 4}, {.heard = true, .to = 2}};

	(void)state;
	pins_thin(&history, list, COUNT(list));
	assert_ran("destroy t/p/v@_repl-a\n"
		   "destroy t/p/v@_repl-c\n");
}

static void without_an_answer_all_since_the_bookmark_stays(void **state)
{
	const struct history history = parse("t/p/v@_repl-a\t1\t100\t0\n"
					     "t/p/v#_repl-n2\t2\t200\t-\n"
					     "t/p/v@_repl-b\t2\t200\t0\n"
					     "t/p/v@_repl-c\t3\t300\t0\n"
					     "t/p/v@_repl-d\t4\t400\t0\n"
					     "t/p/v@_repl-e\t5\t500\t0\n");
	struct pins_need need = {.bookmark = "t/p/v#_repl-n2"};

	(void)state;
	pins_thin(&history, &need, 1);
	assert_ran("destroy t/p/v@_repl-a\n");
	need.to = 3;
	pins_thin(&history, &need, 1);
	assert_ran("destroy t/p/v@_repl-a\n"
		   "destroy t/p/v@_repl-d\n");
	need.bookmark = "t/p/v#_repl-n3";
	pins_thin(&history, &need, 1);
	assert_ran("destroy t/p/v@_repl-d\n");
}

static void the_bookmark_moves_to_the_snapshot_that_arrived(void **state)
{
	const struct history history = parse("t/p/v#_repl-n2\t1\t100\t-\n"
					     "t/p/v@" ONE "\t2\t200\t0\n");
	const struct point *last = &history.points[1];
	struct error err;

	(void)state;
	assert_int_equal(pins_arrived(&arena, &history, "t/p/v#_repl-n2", last, 1, &err), 0);
	assert_ran("destroy t/p/v#_repl-n2\n"
		   "bookmark t/p/v@" ONE " t/p/v#_repl-n2\n");
}

static void a_spare_bookmark_stays_until_all_copies_are_past_it(void **state)
{
	const struct history history = parse("t/p/v#_repl-:1\t1\t100\t-\n"
					     "t/p/v@" TWO "\t2\t200\t0\n"
					     "t/p/v#_repl-n2\t2\t200\t-\n"
					     "t/p/v#_repl-:3\t3\t300\t-\n");
	const struct point *last = &history.points[1];
	struct error err;

	(void)state;
	assert_int_equal(pins_arrived(&arena, &history, "t/p/v#_repl-n2", last, 1, &err), 0);
	assert_ran("");
	assert_int_equal(pins_arrived(&arena, &history, "t/p/v#_repl-n2", last, 0, &err), 0);
	assert_ran("destroy t/p/v#_repl-:1\n");
}

static void the_spare_bookmark_of_the_only_copy_goes_at_once(void **state)
{
	const struct history history = parse("t/p/v#_repl-n2\t1\t100\t-\n"
					     "t/p/v@asked\t2\t200\t0\n");
	const struct point *asked = &history.points[1];
	struct error err;

	(void)state;
	assert_int_equal(pins_arrived(&arena, &history, "t/p/v#_repl-n2", asked, 0, &err), 0);
	assert_ran("destroy t/p/v#_repl-n2\n"
		   "bookmark t/p/v@asked t/p/v#_repl-n2\n"
		   "destroy t/p/v#_repl-:2\n");
}

static void a_snapshot_gets_a_single_spare_bookmark(void **state)
{
	const struct history history = parse("t/p/v@a\t1\t100\t0\n"
					     "t/p/v#_repl-n2\t1\t100\t-\n"
					     "t/p/v@b\t2\t200\t0\n"
					     "t/p/v#_repl-:2\t2\t200\t-\n");
	struct error err;

	(void)state;
	assert_int_equal(pins_spare(&arena, &history, &history.points[0], &err), 0);
	assert_ran("bookmark t/p/v@a t/p/v#_repl-:1\n");
	assert_int_equal(pins_spare(&arena, &history, &history.points[2], &err), 0);
	assert_ran("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_snapshot_goes_after_a_day_or_earlier_if_it_is_large),
		cmocka_unit_test(pin_limit_replaces_the_day),
		cmocka_unit_test(a_snapshot_for_a_copy_that_gets_data_stays),
		cmocka_unit_test(a_bookmark_stays_of_each_snapshot_that_goes),
		cmocka_unit_test(leftovers_of_failures_are_destroyed),
		cmocka_unit_test(a_snapshot_that_any_copy_needs_stays),
		cmocka_unit_test(without_an_answer_all_since_the_bookmark_stays),
		cmocka_unit_test(the_bookmark_moves_to_the_snapshot_that_arrived),
		cmocka_unit_test(a_spare_bookmark_stays_until_all_copies_are_past_it),
		cmocka_unit_test(the_spare_bookmark_of_the_only_copy_goes_at_once),
		cmocka_unit_test(a_snapshot_gets_a_single_spare_bookmark),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
