/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the list of troubles: a trouble of a volume that is not noted again counts as over. */
#include "tests/cmocka.h"

#include "node/host/troubles.h"

static struct troubles troubles;

static void assert_trouble(const char *id, const char *text, const char *remedy)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const Trouble *found = troubles_find(&troubles, &arena, id);

	assert_non_null(found);
	assert_string_equal(found->text, text);
	assert_string_equal(found->remedy, remedy);
}

static void a_trouble_lasts_as_long_as_it_is_noted(void **state)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};

	(void)state;
	troubles_init(&troubles);
	troubles_note(&troubles, "one", "out of space", "");
	troubles_note(&troubles, "two", "out of space", "zcsi trash empty");
	troubles_end_round(&troubles);
	assert_trouble("one", "out of space", "");
	assert_trouble("two", "out of space", "zcsi trash empty");
	troubles_note(&troubles, "two", "permission denied", "");
	troubles_end_round(&troubles);
	assert_null(troubles_find(&troubles, &arena, "one"));
	assert_trouble("two", "permission denied", "");
	troubles_end_round(&troubles);
	assert_null(troubles_find(&troubles, &arena, "two"));
	troubles_note(&troubles, "one", "out of space", "");
	troubles_fini(&troubles);
	assert_null(troubles_find(NULL, &arena, "one"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trouble_lasts_as_long_as_it_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
