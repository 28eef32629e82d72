/* SPDX-License-Identifier: MPL-2.0 */
/* Pushes to several copies in sequences of failures, each determined by a number. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_copies.c */
#include "tests/unit/node/scripted_copies.c"

static uint32_t chance(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 16) % below;
}

/*
 * Assert that this host has a base for the next stream to each copy, and for each interrupted
 * stream. The snapshot at the end of an interrupted stream may have been deleted.
 */
static void assert_all_needs(void)
{
	for (size_t i = 0; i < COPIES; i++) {
		const struct twin *twin = &twins[i];
		assert_true(!twin->n || has(newest_of(i), true));
		assert_true(!twin->to || !twin->from || has(twin->from, true));
	}
}

/* Delete the first snapshot after the first `number` ones that was not taken for pushes. */
static void delete_any(size_t number)
{
	for (size_t i = number; i < n_made; i++) {
		bool others = !strstr(made[i].name, HISTORY_OWN);
		if (!others || !made[i].guid)
			continue;
		delete_snapshot(made[i].guid);
		return;
	}
}

/*
 * Assert that few snapshots of the copy, deleted since the last push to it, are missing on this
 * host, and that the copy has the records of all others.
 */
static void assert_tidy(const struct twin *twin)
{
	size_t lost = 0;

	for (size_t i = 0; i < twin->n; i++) {
		assert_true(twin->described[i] || !has(twin->guids[i], false) ||
			    strncmp(twin->leaves[i], "asked-", 6));
		lost += (twin->described[i] || *twin->leaves[i] == '_') &&
			!has(twin->guids[i], true);
	}
	assert_true(lost <= COPIES);
}

/* Push to a copy, each one once at first, with random failures and changes. */
static void random_step(uint32_t *random, size_t *begun)
{
	struct twin *twin = &twins[*begun < COPIES ? (*begun)++ : chance(random, COPIES)];

	twin->silent = chance(random, 4) == 0;
	twin->cut = chance(random, 3) == 0;
	twin->cut_after = (int)chance(random, 3);
	twin->unsaid = chance(random, 6) == 0;
	twin->ends = twin->unsaid && chance(random, 2) == 0;
	bool killed = chance(random, 4) == 0;
	if (killed)
		steps = (int)chance(random, 8);
	if (chance(random, 5) == 0)
		ask_for_snapshot();
	if (chance(random, 5) == 0)
		take_by_tool(arena_printf(&arena, "tool-%" PRIu64, last_guid));
	twin->refuses = chance(random, 3) == 0;
	twin->keeps = chance(random, 3) == 0;
	if (chance(random, 5) == 0)
		delete_any(chance(random, 8));
	push_to((size_t)(twin - twins));
	if (!killed)
		return;
	start();
	*begun = 0;
}

static void compact(void)
{
	size_t n = 0;

	for (size_t i = 0; i < n_made; i++)
		if (made[i].guid)
			made[n++] = made[i];
	n_made = n;
}

static void every_copy_goes_on_after_any_sequence_of_failures(void **state)
{
	for (uint32_t seed = 0; seed < 2000; seed++) {
		uint32_t random = seed;
		size_t begun = 0;
		tear_down(state);
		set_up(state);
		rules = seed % 2 ? "snapshots=all" : "";
		for (int i = 0; i < 30; i++) {
			random_step(&random, &begun);
			compact();
			assert_all_needs();
		}
		for (size_t i = 0; i < COPIES; i++) {
			twins[i].silent = false;
			twins[i].cut = twins[i].unsaid = 0;
			twins[i].keeps = false;
		}
		settle();
		assert_int_equal(count_of("#" HISTORY_OWN), COPIES);
		for (size_t i = 0; i < COPIES; i++)
			assert_tidy(&twins[i]);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(every_copy_goes_on_after_any_sequence_of_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
