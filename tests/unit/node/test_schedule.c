/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of schedules: the parameter keep, the names of snapshots, and which snapshots are due or to
 * be destroyed.
 */
#include "node/schedule/due.h"

#include <string.h>
#include <time.h>

#include "tests/arena.h"
#include "tests/cmocka.h"

#define MINUTE    60
#define HOUR      3600
#define DAY       86400
#define NOON      1764158400 /* Wednesday, 2025-11-26T12:00:00Z */

#define BIT(unit) (1U << SCHEDULE_##unit)

static struct schedule schedule_of(const char *text)
{
	struct schedule schedule;

	assert_true(schedule_parse(text, &schedule));
	return schedule;
}

static void a_schedule_is_units_with_numbers(void **state)
{
	(void)state;
	const struct schedule schedule = schedule_of("daily=30,hourly=24,yearly=1000");
	assert_int_equal(schedule.keep[SCHEDULE_HOURLY], 24);
	assert_int_equal(schedule.keep[SCHEDULE_DAILY], 30);
	assert_int_equal(schedule.keep[SCHEDULE_WEEKLY], 0);
	assert_int_equal(schedule.keep[SCHEDULE_YEARLY], 1000);
	assert_true(schedule_is_set(&schedule));
	for (unsigned unit = 0; unit < SCHEDULE_UNITS; unit++)
		assert_int_equal(
			schedule_of(arena_printf(&arena, "%s=7", schedule_names[unit])).keep[unit],
			7);
	const struct schedule none = schedule_of("none");
	assert_false(schedule_is_set(&none));
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = {"",
					    "hourly",
					    "hourly=",
					    "hourly=0",
					    "hourly=1001",
					    "hourly=99999999999",
					    "hourly=-1",
					    "hourly=1,",
					    ",hourly=1",
					    "hourly=1 ",
					    "hourly=1,hourly=2",
					    "hourly=1;daily=1",
					    "hour=1",
					    "Hourly=1",
					    "none,daily=1",
					    "daily=1,none",
					    "=1"};
	struct schedule schedule;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_false(schedule_parse(texts[i], &schedule));
}

static void a_leaf_has_the_time_and_the_units(void **state)
{
	struct scheduled parsed;

	(void)state;
	for (unsigned units = 1; units < 1U << SCHEDULE_UNITS; units++) {
		const struct scheduled made = {.time = NOON + units, .units = units};
		assert_true(scheduled_parse(scheduled_leaf(&arena, &made), &parsed));
		assert_true(parsed.time == made.time && parsed.units == units);
	}
	assert_string_equal(scheduled_leaf(&arena,
					   &(struct scheduled){NOON, BIT(HOURLY) | BIT(YEARLY)}),
			    "2025-11-26T12:00:00Z_hourly_yearly");
}

static void other_leafs_are_not_taken_for_one(void **state)
{
	static const char *const leafs[] = {"",
					    "daily",
					    "2025-11-26T12:00:00Z",
					    "2025-11-26T12:00:00Z_",
					    "2025-11-26T12:00:00Z_dailyx",
					    "2025-11-26T12:00:00Z_daily_",
					    "2025-11-26T12:00:00Z_daily_hourly",
					    "2025-11-26T12:00:00Z_hourly_hourly",
					    "2025-11-26T12:00:00Zhourly",
					    "2025-11-26T12:00:00_hourly",
					    "2025-11-31T12:00:00Z_hourly",
					    "2025-11-26T25:00:00Z_hourly",
					    " 2025-11-26T12:00:00Z_hourly",
					    "2025-11-26T1:00:00Z_hourly"};
	struct scheduled parsed;

	(void)state;
	for (size_t i = 0; i < COUNT(leafs); i++)
		assert_false(scheduled_parse(leafs[i], &parsed));
}

/* Returns the units that are due at `now`, if one snapshot of all units was taken at `taken`. */
static unsigned due_after(int64_t taken, int64_t now)
{
	const struct schedule all = schedule_of("frequently=1,hourly=1,daily=1,weekly=1,"
						"monthly=1,yearly=1");
	const struct scheduled row = {.time = taken, .units = (1U << SCHEDULE_UNITS) - 1};

	return due_units(&all, &row, 1, now);
}

static void a_unit_is_due_once_in_its_period(void **state)
{
	const int64_t new_year = NOON + 36 * DAY - 12 * HOUR; /* a Thursday */

	(void)state;
	assert_int_equal(due_after(NOON, NOON), 0);
	assert_int_equal(due_after(NOON, NOON + 15 * MINUTE - 1), 0);
	assert_int_equal(due_after(NOON, NOON + 15 * MINUTE), BIT(FREQUENTLY));
	assert_int_equal(due_after(NOON, NOON + HOUR), BIT(FREQUENTLY) | BIT(HOURLY));
	assert_int_equal(due_after(NOON, NOON + 12 * HOUR),
			 BIT(FREQUENTLY) | BIT(HOURLY) | BIT(DAILY));
	assert_int_equal(due_after(NOON, NOON + 4 * DAY + 12 * HOUR - 1),
			 BIT(FREQUENTLY) | BIT(HOURLY) | BIT(DAILY));
	/* The first of December is a Monday. */
	assert_int_equal(due_after(NOON, NOON + 4 * DAY + 12 * HOUR),
			 ((1U << SCHEDULE_UNITS) - 1) & ~BIT(YEARLY));
	assert_int_equal(due_after(NOON + 5 * DAY, NOON + 11 * DAY) & ~BIT(FREQUENTLY),
			 BIT(HOURLY) | BIT(DAILY));
	assert_int_equal(due_after(new_year - 1, new_year),
			 ((1U << SCHEDULE_UNITS) - 1) & ~BIT(WEEKLY));
}

static void only_units_of_the_schedule_are_due(void **state)
{
	const struct schedule schedule = schedule_of("daily=2"), none = schedule_of("none");
	const struct scheduled hourly = {.time = NOON, .units = BIT(HOURLY)};

	(void)state;
	assert_int_equal(due_units(&schedule, NULL, 0, NOON), BIT(DAILY));
	assert_int_equal(due_units(&schedule, &hourly, 1, NOON), BIT(DAILY));
	assert_int_equal(due_units(&none, &hourly, 1, NOON), 0);
}

/* If a clock that is set back made units due, an hour would get two hourly snapshots. */
static void a_clock_that_is_set_back_makes_nothing_due_twice(void **state)
{
	(void)state;
	assert_int_equal(due_after(NOON + 10 * MINUTE, NOON), 0);
	assert_true(due_after(NOON + 30 * DAY, NOON));
}

static size_t left(const struct schedule *schedule, struct scheduled *rows, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!due_to_go(schedule, rows, n, &rows[i]))
			kept++;
	return kept;
}

static void the_newest_of_each_unit_stay(void **state)
{
	struct scheduled rows[100];

	(void)state;
	/* An hourly snapshot for each hour of four days; those of midnight are daily ones, too. */
	for (size_t i = 0; i < COUNT(rows); i++)
		rows[i] = (struct scheduled){NOON + (int64_t)i * HOUR,
					     BIT(HOURLY) | (i % 24 == 12 ? BIT(DAILY) : 0)};
	struct schedule schedule = schedule_of("hourly=24,daily=2");
	assert_int_equal(left(&schedule, rows, COUNT(rows)), 24 + 1);
	assert_false(due_to_go(&schedule, rows, COUNT(rows), &rows[99]));
	assert_true(due_to_go(&schedule, rows, COUNT(rows), &rows[75]));
	assert_false(due_to_go(&schedule, rows, COUNT(rows), &rows[60]));
	assert_true(due_to_go(&schedule, rows, COUNT(rows), &rows[36]));
	schedule = schedule_of("daily=3");
	assert_int_equal(left(&schedule, rows, COUNT(rows)), 3);
	schedule = schedule_of("none");
	assert_int_equal(left(&schedule, rows, COUNT(rows)), COUNT(rows));
}

/* A snapshot by a clock that ran ahead counts as one, whatever its age: one older snapshot goes. */
static void age_destroys_nothing(void **state)
{
	struct scheduled rows[4] = {{NOON, BIT(DAILY)},
				    {NOON + DAY, BIT(DAILY)},
				    {NOON + 2 * DAY, BIT(DAILY)},
				    {NOON + 4000 * (int64_t)DAY, BIT(DAILY)}};
	const struct schedule schedule = schedule_of("daily=3");

	(void)state;
	assert_int_equal(left(&schedule, rows, 4), 3);
	assert_true(due_to_go(&schedule, rows, 4, &rows[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_schedule_is_units_with_numbers),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(a_leaf_has_the_time_and_the_units),
		cmocka_unit_test(other_leafs_are_not_taken_for_one),
		cmocka_unit_test(a_unit_is_due_once_in_its_period),
		cmocka_unit_test(only_units_of_the_schedule_are_due),
		cmocka_unit_test(a_clock_that_is_set_back_makes_nothing_due_twice),
		cmocka_unit_test(the_newest_of_each_unit_stay),
		cmocka_unit_test(age_destroys_nothing),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
