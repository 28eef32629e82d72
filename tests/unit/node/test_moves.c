/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the volumes that are closed because they move.
 */
#include "node/host/moves.h"

#include <string.h>

#include "common/clock.h"
#include "common/volume/escape.h"
#include "node/record/dataset.h"
#include "tests/cmocka.h"

static struct moves *moves;

static int set_up(void **state)
{
	(void)state;
	moves = moves_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	moves_free(moves);
	return 0;
}

static void a_closed_volume_is_refused_until_it_is_opened(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(moves_check(moves, "a", &err), 0);
	moves_close(moves, "a", "n2");
	moves_close(moves, "b", "n3");
	moves_close(moves, "a", "n4");
	assert_int_equal(moves_check(moves, "a", &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "'n4'"));
	moves_open(moves, "a");
	moves_open(moves, "a");
	assert_int_equal(moves_check(moves, "a", &err), 0);
	assert_int_equal(moves_check(moves, "b", &err), -1);
}

static void no_volume_is_missing_before_all_are_known(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(moves_check_missing(moves, "a", now_ms(), &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_int_equal(moves_wait(moves, now_ms(), &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	moves_close(moves, "a", "n2");
	moves_known(moves);
	assert_int_equal(moves_wait(moves, NO_DEADLINE, &err), 0);
	assert_int_equal(moves_check_missing(moves, "b", NO_DEADLINE, &err), 0);
	assert_int_equal(moves_check_missing(moves, "a", NO_DEADLINE, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
}

static void a_volume_that_is_rolled_back_is_refused_as_unknown(void **state)
{
	struct error err;

	(void)state;
	moves_close(moves, "a", NULL);
	moves_known(moves);
	assert_int_equal(moves_check(moves, "a", &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "rolled back"));
	assert_int_equal(moves_check_missing(moves, "a", NO_DEADLINE, &err), -1);
	moves_open(moves, "a");
	assert_int_equal(moves_check(moves, "a", &err), 0);
}

static void a_volume_that_is_detached_is_refused_for_now(void **state)
{
	struct error err;

	(void)state;
	moves_close_to_detach(moves, "a");
	assert_int_equal(moves_check(moves, "a", &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'zcsi detach a'"));
	moves_open(moves, "a");
	assert_int_equal(moves_check(moves, "a", &err), 0);
}

/* The dataset of an id with a long escape has a name from which the id cannot be read. */
static void a_volume_with_a_damaged_record_is_refused_by_its_dataset(void **state)
{
	char leaf[ESCAPE_LEAF_MAX + 1], id[DATASET_ID_MAX + 1] = "";
	struct error err;

	(void)state;
	memset(id, '_', DATASET_ID_MAX);
	escape_leaf(id, leaf);
	moves_close_damaged(moves, leaf, "'t/p/x' is damaged; mend it");
	moves_close_damaged(moves, "a_5Fb", "'t/p/y' is damaged; mend it");
	moves_known(moves);
	assert_int_equal(moves_check_missing(moves, id, NO_DEADLINE, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'t/p/x' is damaged; mend it; then restart zcsi-node"));
	assert_int_equal(moves_check(moves, "a_b", &err), -1);
	assert_non_null(strstr(err.text, "volume 'a_b'"));
	assert_int_equal(moves_check(moves, "a", &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_closed_volume_is_refused_until_it_is_opened,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_volume_that_is_rolled_back_is_refused_as_unknown,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_volume_that_is_detached_is_refused_for_now,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_volume_with_a_damaged_record_is_refused_by_its_dataset, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(no_volume_is_missing_before_all_are_known, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
