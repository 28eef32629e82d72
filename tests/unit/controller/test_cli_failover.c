/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of failover_plan_make(): how much a failover may lose. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

#include "controller/cli/failover/plan.h"

static struct client *const b = &scripted[1], *const c = &scripted[2];

/* b has a copy of a volume of c, which is lost. Returns what a failover may lose, in seconds. */
static int64_t may_lose(int64_t behind)
{
	static const char *lost[] = {"c"};
	static const struct option_list list = {lost, 1};
	static char *nodes[] = {(char *)"b", (char *)"c"};
	CopySnapshot *newest = new_copy_snapshot(&call.arena);
	struct failover_plan plan;

	c->silent = ERR_UNAVAILABLE;
	b->copy = new_copy_state(&call.arena);
	b->copy->node_ids = nodes;
	b->copy->n_node_ids = COUNT(nodes);
	b->copy->snapshots = &newest;
	b->copy->n_snapshots = 1;
	b->copy_time = wall_us() - behind * USEC;
	cli.lost = &list;
	ask_members();
	assert_int_equal(failover_plan_make(&cli, "data", &plan, &err), 0);
	assert_int_equal(plan.n, 1);
	assert_null(plan.rows[0].why);
	assert_string_equal(plan.rows[0].to->node, "b");
	return plan.rows[0].may_lose;
}

static void the_loss_is_the_age_of_the_copy(void **state)
{
	(void)state;
	assert_in_range(may_lose(100), 100, 110);
	assert_int_equal(may_lose(-100), 0);
}

static void the_latest_clock_counts(void **state)
{
	(void)state;
	b->ahead_us = (int64_t)60 * USEC;
	assert_in_range(may_lose(100), 160, 170);
	b->ahead_us = (int64_t)-60 * USEC;
	assert_in_range(may_lose(100), 100, 110);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(the_loss_is_the_age_of_the_copy),
		CLI_TEST(the_latest_clock_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
