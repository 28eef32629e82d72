/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of CapacityRange: the size that is chosen for a range, and which existing sizes fit it.
 */
#include "tests/cmocka.h"

#include "controller/request/capacity_range.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static int parse(int64_t required, int64_t limit, struct capacity_range *ret, struct error *err)
{
	CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;

	range.required_bytes = required;
	range.limit_bytes = limit;
	return capacity_range_parse(&range, ret, err);
}

static void impossible_ranges_are_refused(void **state)
{
	static const struct {
		int64_t required, limit;
		enum error_code code;
	} cases[] = {
		{-1, 0, ERR_INVALID_ARGUMENT},
		{0, -1, ERR_INVALID_ARGUMENT},
		{INT64_MIN, INT64_MIN, ERR_INVALID_ARGUMENT},
		{2 * GIB, GIB, ERR_INVALID_ARGUMENT},
		{0, MIB - 1, ERR_OUT_OF_RANGE},
		{1, 1, ERR_OUT_OF_RANGE},
		{INT64_MAX, 0, ERR_OUT_OF_RANGE},
		{VOLUME_SIZE_MAX + 1, INT64_MAX, ERR_OUT_OF_RANGE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct capacity_range range;
		struct error err;
		assert_int_equal(parse(cases[i].required, cases[i].limit, &range, &err), -1);
		assert_int_equal(err.code, cases[i].code);
	}
}

static void a_size_in_the_range_is_chosen(void **state)
{
	static const struct {
		int64_t required, limit, size;
	} cases[] = {
		{0, 0, GIB},
		{0, 2 * GIB, GIB},
		{0, 5 * MIB, 5 * MIB},
		{0, MIB, MIB},
		{1, 0, MIB},
		{1, MIB, MIB},
		{GIB + 1, 0, GIB + 1},
		{GIB, 2 * GIB, GIB},
		{VOLUME_SIZE_MAX, INT64_MAX, VOLUME_SIZE_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct capacity_range range;
		struct error err;
		assert_int_equal(parse(cases[i].required, cases[i].limit, &range, &err), 0);
		int64_t size = capacity_range_choose(&range);
		assert_int_equal(size, cases[i].size);
		/* A repeated request must accept the volume that the first one created. */
		assert_true(capacity_range_fits(&range, size));
	}
}

static void no_range_gives_the_default_size(void **state)
{
	struct capacity_range range = {1, 1};
	struct error err;

	(void)state;
	assert_int_equal(capacity_range_parse(NULL, &range, &err), 0);
	assert_int_equal(capacity_range_choose(&range), GIB);
	assert_true(capacity_range_fits(&range, 1));
	assert_true(capacity_range_fits(&range, INT64_MAX));
}

static void a_format_rounds_the_size_up(void **state)
{
	static const struct {
		const char *format;
		int64_t required, limit, size; /* size -1: the range is refused */
	} cases[] = {
		{"zfs", 5 * MIB + 1, 5 * MIB + 2, 5 * MIB + 1},
		{"block", 5 * MIB + 1, 0, 5 * MIB + FORMAT_GRAIN},
		{"block", 5 * MIB + 1, 5 * MIB + FORMAT_GRAIN, 5 * MIB + FORMAT_GRAIN},
		{"block", 5 * MIB + 1, 5 * MIB + FORMAT_GRAIN - 1, -1},
		{"block", 5 * MIB, 5 * MIB, 5 * MIB},
		{"block", 0, 5 * MIB + 1, 5 * MIB},
		{"block", 0, 0, GIB},
		{"ext4", 1, 0, 2 * MIB},
		{"ext4", 0, MIB, -1},
		{"xfs", MIB, 0, 300 * MIB},
		{"xfs", 0, 300 * MIB, 300 * MIB},
		{"xfs", 0, 299 * MIB, -1},
		{"xfs", 0, 0, GIB},
		{"block", VOLUME_SIZE_MAX, INT64_MAX, VOLUME_SIZE_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct capacity_range range;
		struct error err;
		assert_int_equal(parse(cases[i].required, cases[i].limit, &range, &err), 0);
		const struct capacity_range asked = range;
		if (capacity_range_take_format(&range, format_find(cases[i].format), &err) < 0) {
			assert_int_equal(err.code, ERR_OUT_OF_RANGE);
			assert_int_equal(cases[i].size, -1);
			continue;
		}
		assert_int_equal(capacity_range_choose(&range), cases[i].size);
		assert_true(capacity_range_fits(&asked, cases[i].size));
	}
}

static void a_copy_is_no_smaller_than_its_source(void **state)
{
	static const struct {
		int64_t required, limit, source, size; /* size -1: the range is refused */
	} cases[] = {
		{0, 0, 5 * MIB, 5 * MIB},
		{0, 5 * MIB, 5 * MIB, 5 * MIB},
		{5 * MIB, 5 * MIB, 5 * MIB, 5 * MIB},
		{6 * MIB, 0, 5 * MIB, 6 * MIB},
		{5 * MIB - 1, 0, 5 * MIB, -1},
		{0, 5 * MIB - 1, 5 * MIB, -1},
		{0, 0, 0, GIB}, /* the source has no quota */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct capacity_range range;
		struct error err;
		int64_t size = -1;
		assert_int_equal(parse(cases[i].required, cases[i].limit, &range, &err), 0);
		if (capacity_range_choose_from(&range, cases[i].source, &size, &err) < 0)
			assert_int_equal(err.code, ERR_OUT_OF_RANGE);
		assert_int_equal(size, cases[i].size);
		assert_true(size < 0 || capacity_range_fits(&range, size));
	}
}

static void existing_sizes_fit_a_range(void **state)
{
	const struct capacity_range range = {.required = GIB, .limit = 2 * GIB};
	const struct capacity_range open = {.required = GIB};

	(void)state;
	assert_false(capacity_range_fits(&range, GIB - 1));
	assert_true(capacity_range_fits(&range, GIB));
	assert_true(capacity_range_fits(&range, 2 * GIB));
	assert_false(capacity_range_fits(&range, 2 * GIB + 1));
	assert_true(capacity_range_fits(&open, INT64_MAX));
	/* A volume without a quota meets every required_bytes, but exceeds every limit_bytes. */
	assert_true(capacity_range_fits(&open, 0));
	assert_false(capacity_range_fits(&range, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(impossible_ranges_are_refused),
		cmocka_unit_test(a_size_in_the_range_is_chosen),
		cmocka_unit_test(no_range_gives_the_default_size),
		cmocka_unit_test(a_copy_is_no_smaller_than_its_source),
		cmocka_unit_test(a_format_rounds_the_size_up),
		cmocka_unit_test(existing_sizes_fit_a_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
