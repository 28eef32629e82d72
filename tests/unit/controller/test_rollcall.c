/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of rollcall(): clock skew of agents, two agents that serve the same dataset, and agents
 * whose pool was replaced.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include "controller/rollcall.h"

#define SECOND INT64_C(1000000)

static struct roster roster;

static int setup(void **state)
{
	static const struct client_options options;
	const char *endpoints[N_AGENTS];
	struct error err;

	assert_int_equal(scripted_setup(state), 0);
	for (size_t i = 0; i < N_AGENTS; i++) {
		endpoints[i] = scripted[i].endpoint;
		scripted[i].pool_guid = i + 1;
	}
	roster_init(&roster, NULL, &options);
	assert_int_equal(roster_name(&roster, endpoints, N_AGENTS, &err), 0);
	roster_open(&roster);
	return 0;
}

static int teardown(void **state)
{
	roster_fini(&roster);
	return scripted_teardown(state);
}

static const struct agent_state *state_of(size_t i)
{
	return &roster.named->list[i]->state;
}

static void assert_refused(size_t i, const char *word, const char *other)
{
	assert_non_null(state_of(i)->refusal);
	assert_non_null(strstr(state_of(i)->refusal, word));
	assert_non_null(strstr(state_of(i)->refusal, other));
}

static double reported_skew(const char *endpoint)
{
	auto_free char *line = NULL, *text = NULL;
	size_t size;
	double skew;

	FILE *out = open_memstream(&text, &size);
	roster_metrics(&roster, out);
	fclose(out);
	assert_true(asprintf(&line, "zcsi_agent_clock_skew_seconds{endpoint=\"%s\"} ", endpoint) >
		    0);
	const char *found = strstr(text, line);
	assert_non_null(found);
	assert_int_equal(sscanf(found + strlen(line), "%lf", &skew), 1);
	return skew;
}

static void clock_skew_is_reported(void **state)
{
	(void)state;
	scripted[1].ahead_us = 90 * SECOND;
	scripted[2].ahead_us = -90 * SECOND;
	rollcall(&roster, 0);
	assert_true(state_of(0)->skew_us == 0);
	/* The skew is a lower bound: the round-trip time of the call is subtracted. */
	assert_true(reported_skew("unix:///b") > 80 && reported_skew("unix:///b") <= 90);
	assert_true(reported_skew("unix:///c") < -80 && reported_skew("unix:///c") >= -90);
	scripted[1].ahead_us = 0;
	rollcall(&roster, 0);
	assert_true(reported_skew("unix:///b") == 0);
}

static void two_agents_of_one_dataset_are_refused(void **state)
{
	(void)state;
	scripted[0].pool = scripted[2].pool = "tank/zcsi";
	rollcall(&roster, 0);
	assert_null(state_of(0)->refusal);
	scripted[2].pool_guid = scripted[0].pool_guid;
	rollcall(&roster, 0);
	assert_refused(0, "unix:///c", "same dataset");
	assert_refused(2, "unix:///a", "same dataset");
	scripted[2].pool_guid = 3;
	rollcall(&roster, 0);
	assert_null(state_of(0)->refusal);
	assert_null(state_of(2)->refusal);
}

static void a_replaced_pool_is_refused(void **state)
{
	(void)state;
	rollcall(&roster, 0);
	scripted[1].pool_guid = 0; /* 0: the pool is not imported */
	rollcall(&roster, 0);
	assert_null(state_of(1)->refusal);
	scripted[1].pool_guid = 77;
	rollcall(&roster, 0);
	assert_refused(1, "pool 2 ", "pool 77 ");
	assert_null(state_of(0)->refusal);
	scripted[1].pool_guid = 2;
	rollcall(&roster, 0);
	assert_null(state_of(1)->refusal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(clock_skew_is_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(two_agents_of_one_dataset_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_replaced_pool_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
