/* SPDX-License-Identifier: MPL-2.0 */
/* Failures of schedules: a volume that is not noted again is well again. */
#include "tests/cmocka.h"

#include "node/schedule/failures.h"

static void a_failure_lasts_as_long_as_it_is_noted(void **state)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct failures failures;

	(void)state;
	failures_init(&failures);
	failures_note(&failures, "one", "out of space");
	failures_note(&failures, "two", "out of space");
	failures_end_round(&failures);
	assert_string_equal(failures_find(&failures, &arena, "one"), "out of space");
	failures_note(&failures, "two", "permission denied");
	failures_end_round(&failures);
	assert_null(failures_find(&failures, &arena, "one"));
	assert_string_equal(failures_find(&failures, &arena, "two"), "permission denied");
	failures_end_round(&failures);
	assert_null(failures_find(&failures, &arena, "two"));
	failures_note(&failures, "one", "out of space");
	failures_fini(&failures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_lasts_as_long_as_it_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
