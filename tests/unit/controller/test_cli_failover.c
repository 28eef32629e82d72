/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of failover_plan_make(): how much data a failover may lose, and reasons against it. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

#include "common/volume/epoch.h"
#include "controller/cli/failover/plan.h"

static struct client *const b = &scripted[1], *const c = &scripted[2];

/*
 * Let b have a copy of a volume of node c, and let c be lost. The copy has all that was written
 * until `behind` seconds ago. Returns the plan of the failover.
 */
static const struct takeover *planned(int64_t behind)
{
	static const char *lost[] = {"c"};
	static const struct option_list list = {lost, 1};
	static char *nodes[] = {(char *)"b", (char *)"c"};
	static struct failover_plan plan;

	c->silent = ERR_UNAVAILABLE;
	b->copy = new_copy_state(&call.arena);
	b->copy->node_ids = nodes;
	b->copy->n_node_ids = COUNT(nodes);
	b->copy->snapshots = arena_alloc(&call.arena, sizeof(CopySnapshot *));
	b->copy->snapshots[0] = new_copy_snapshot(&call.arena);
	b->copy->n_snapshots = 1;
	b->copy_time = wall_us() - behind * USEC;
	cli.lost = &list;
	ask_members();
	assert_int_equal(failover_plan_make(&cli, "data", &plan, &err), 0);
	assert_int_equal(plan.n, 1);
	assert_null(plan.rows[0].why);
	assert_string_equal(plan.rows[0].to->node, "b");
	return plan.rows;
}

/* Returns what the failover may lose, in seconds. */
static int64_t may_lose(int64_t behind)
{
	return planned(behind)->may_lose;
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

/* Let the last message about the copy have reached b from the node `speaker` so many seconds ago by
 * b's clock. Returns the warning of the plan, or NULL. */
static const char *note(const char *speaker, int64_t seconds)
{
	b->speaker = speaker;
	b->heard = wall_us() + b->ahead_us - seconds * USEC;
	return planned(100)->note;
}

static void a_lost_node_that_spoke_lately_is_warned_of(void **state)
{
	(void)state;
	assert_null(planned(100)->note);
	assert_null(note("a", 5));
	assert_null(note("c", 70));
	const char *said = note("c", 20);
	assert_non_null(said);
	assert_non_null(strstr(said, "node 'b' got a call from node 'c'"));
	assert_non_null(strstr(said, "'zcsi move data NODE'"));
	b->ahead_us = (int64_t)-3600 * USEC;
	assert_non_null(note("c", 20));
}

/* The clock of b was an hour ahead when the message of c arrived. */
static void a_time_to_come_is_no_warning(void **state)
{
	(void)state;
	assert_null(note("c", -3600));
}

/* The table shows the warning, which does not keep the volume from being taken over. */
static void a_warning_is_printed(void **state)
{
	int ret;

	(void)state;
	note("c", 20);
	cli.dry_run = true;
	const char *text = printed(cli_failover, "data", &ret);
	assert_int_equal(ret, 0);
	assert_non_null(strstr(text, "waits"));
	assert_non_null(strstr(text, "got a call from node 'c'"));
}

/* Let an agent have a copy at an epoch, with one snapshot. accepted: the node to which the copy is
 * promised. */
static void has_copy(struct client *client, int64_t epoch, uint64_t guid, const char *accepted)
{
	static char *nodes[] = {(char *)"a", (char *)"b", (char *)"c"};
	CopyState *copy = new_copy_state(&call.arena);

	copy->node_ids = nodes;
	copy->n_node_ids = COUNT(nodes);
	copy->epoch = epoch;
	copy->accepted_node_id = (char *)accepted;
	copy->snapshots = arena_alloc(&call.arena, sizeof(*copy->snapshots));
	copy->snapshots[0] = new_copy_snapshot(&call.arena);
	copy->snapshots[0]->guid = guid;
	copy->snapshots[0]->creation = (int64_t)guid;
	copy->n_snapshots = 1;
	client->copy = copy;
}

/* Returns the reason for which a failover to a, after the loss of c, is refused; NULL: it is not
 * refused. */
static const char *refusal_of_a(void)
{
	static const char *lost[] = {"c"};
	static const struct option_list list = {lost, 1};
	struct failover_plan plan;

	c->silent = ERR_UNAVAILABLE;
	cli.lost = &list;
	cli.to = "a";
	ask_members();
	assert_int_equal(failover_plan_make(&cli, "data", &plan, &err), 0);
	cli.to = NULL;
	assert_int_equal(plan.n, 1);
	assert_int_equal(plan.rows[0].epoch, 3 + EPOCH_FAILOVER);
	return plan.rows[0].why;
}

/* An Accept that was not followed by a takeover gives a copy a later epoch, and no data. */
static void a_copy_that_was_only_promised_is_not_taken_for_the_newest(void **state)
{
	(void)state;
	has_copy(&scripted[0], 1, 12, "");
	has_copy(b, 3, 11, "");
	assert_non_null(strstr(refusal_of_a(), "has newer data than 'a'"));
	has_copy(b, 3, 11, "b");
	assert_null(refusal_of_a());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(the_loss_is_the_age_of_the_copy),
		CLI_TEST(the_latest_clock_counts),
		CLI_TEST(a_lost_node_that_spoke_lately_is_warned_of),
		CLI_TEST(a_time_to_come_is_no_warning),
		CLI_TEST(a_warning_is_printed),
		CLI_TEST(a_copy_that_was_only_promised_is_not_taken_for_the_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
