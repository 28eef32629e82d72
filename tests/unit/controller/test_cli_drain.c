/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of zcsi drain: which volumes move to which node, which stay and why, and how the command
 * ends. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

static struct client *const a = &scripted[0], *const b = &scripted[1], *const c = &scripted[2];

static Dataset *used(Dataset *volume, const char *node)
{
	volume->published = arena_alloc(&call.arena, sizeof(*volume->published));
	volume->published[0] = new_publication(&call.arena);
	volume->published[0]->node_id = arena_strdup(&call.arena, node);
	volume->n_published = 1;
	return volume;
}

static void assert_drains(const char *expected, bool all)
{
	int result;
	const char *text = printed(cli_drain, "a", &result);

	assert_string_equal(text, expected);
	if (all)
		assert_int_equal(result, 0);
	else
		assert_failed(result, ERR_FAILED_PRECONDITION, "stay on node 'a'");
}

static void a_volume_goes_to_the_copy_that_is_least_behind(void **state)
{
	(void)state;
	add_dataset(a, "one", 1, "");
	add_push(a, "one", "b", 20);
	add_push(a, "one", "c", 3);
	add_dataset(b, "other", 1, "");
	assert_drains("one\tc\tmoved\t-\n", true);
	assert_int_equal(c->n_datasets, 1);
	assert_int_equal(a->moved, 1);
	/* No volume is left to move. */
	assert_drains("", true);
	assert_int_equal(a->moved, 1);
}

static void of_equal_copies_that_with_more_space_is_taken(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *id = arena_printf(&call.arena, "v%d", i);
		add_dataset(a, id, 1, "");
		add_push(a, id, i ? "b" : "c", 100)->synced += 200000;
		add_push(a, id, i ? "c" : "b", 100)->synced += 100000;
	}
	assert_drains("v0\tb\tmoved\t-\nv1\tb\tmoved\t-\n", true);
}

static void two_move_at_a_time(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		const char *id = arena_printf(&call.arena, "v%d", i);
		add_dataset(a, id, 1, "");
		add_push(a, id, "b", 1);
	}
	a->move_looks = 3;
	int result;
	printed(cli_drain, "a", &result);
	assert_int_equal(result, 0);
	assert_int_equal(a->moving_max, 2);
	assert_int_equal(a->moved, 5);
}

static void each_volume_that_stays_has_a_reason(void **state)
{
	(void)state;
	c->silent = ERR_UNAVAILABLE;
	used(add_dataset(a, "attached", 1, ""), "c");
	add_push(a, "attached", "b", 1);
	add_dataset(a, "bare", 1, "");
	add_push(a, "bare", "b", 1)->deleted = true;
	add_dataset(a, "both", 1, "");
	add_push(a, "both", "b", 1);
	add_push(a, "both", "c", 1);
	add_dataset(a, "far", 1, "");
	add_push(a, "far", "c", 1);
	add_dataset(a, "part", 1, "");
	add_push(a, "part", "b", -1);
	add_dataset(a, "paused", 1, "");
	add_push(a, "paused", "b", 1)->paused = true;
	add_dataset(a, "twice", 1, "");
	add_dataset(b, "twice", 1, "");
	used(add_dataset(a, "worst", 1, ""), "a");
	assert_drains("both\tb\tmoved\t-\n"
		      "attached\tb\tstays\tit is in use, attached to node 'c'; stop the job that "
		      "uses it first\n"
		      "bare\t-\tstays\tit has no copy; run 'zcsi copy add bare NODE' and 'zcsi "
		      "sync bare' first\n"
		      "far\t-\tstays\tnode 'c', which has a copy, does not answer\n"
		      "part\t-\tstays\tthe copy on node 'b' is not complete yet; 'zcsi copies "
		      "part' shows how far it is\n"
		      "paused\t-\tstays\tit is paused; run 'zcsi resume paused' first\n"
		      "twice\t-\tstays\tit exists on node 'b' too; rename one of the two with "
		      "'zfs rename'; and it has no copy; run 'zcsi copy add twice NODE' and "
		      "'zcsi sync twice' first\n"
		      "worst\t-\tstays\tit is in use, attached to node 'a'; stop the job that uses "
		      "it first; and it has no copy; run 'zcsi copy add worst NODE' and 'zcsi sync "
		      "worst' first\n",
		      false);
	assert_int_equal(a->moved, 1);
}

static void the_reason_of_the_agent_is_printed(void **state)
{
	(void)state;
	add_dataset(a, "one", 1, "");
	add_push(a, "one", "b", 1);
	a->unmovable = ERR_FAILED_PRECONDITION;
	assert_drains("one\tb\tstays\tvolume 'one' cannot move to node 'b': no\n", false);
	a->unmovable = ERR_OK;
	assert_drains("one\tb\tmoved\t-\n", true);
}

/* An agent whose StartMove exceeds the deadline still answers other calls. */
static void a_slow_call_stops_one_move_only(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *id = arena_printf(&call.arena, "v%d", i);
		add_dataset(a, id, 1, "");
		add_push(a, id, "b", 1);
	}
	a->unmovable = ERR_DEADLINE_EXCEEDED;
	assert_drains("v0\tb\tstays\tvolume 'v0' cannot move to node 'b': no\n"
		      "v1\tb\tstays\tvolume 'v1' cannot move to node 'b': no\n",
		      false);
}

static void a_silent_agent_may_move_the_volume(void **state)
{
	static const char *args[] = {"one", "b"};

	(void)state;
	add_dataset(a, "one", 1, "");
	cli.args = args;
	cli.n_args = COUNT(args);
	cli.cancel = true;
	ask_members();
	assert_failed(cli_move(&cli, &err), ERR_FAILED_PRECONDITION, "is not moving");
	a->silent = ERR_UNAVAILABLE;
	ask_members();
	assert_failed(cli_move(&cli, &err), ERR_UNAVAILABLE, "'unix:///a' does not");
}

static void a_dry_run_moves_nothing(void **state)
{
	(void)state;
	add_dataset(a, "bare", 1, "");
	add_dataset(a, "one", 1, "");
	add_push(a, "one", "b", 1);
	cli.dry_run = true;
	assert_drains("one\tb\tmoves\t-\n"
		      "bare\t-\tstays\tit has no copy; run 'zcsi copy add bare NODE' and 'zcsi "
		      "sync bare' first\n",
		      false);
	assert_int_equal(a->n_moves, 0);
}

/* A zcsi drain was interrupted during a move, and is run again. */
static void moves_that_run_are_waited_for(void **state)
{
	(void)state;
	add_dataset(a, "one", 1, "");
	add_push(a, "one", "b", 1);
	add_push(a, "one", "c", 2);
	add_move(a, "one", "c");
	assert_drains("one\tc\tmoved\t-\n", true);
	assert_int_equal(a->n_moves, 1);
}

static void the_other_node_answers(void)
{
	meanwhile = the_other_node_answers;
	for (size_t i = 0; i < a->n_moves && a->moved; i++)
		a->moves[i]->running = false;
}

/* Two volumes wait for a node that does not answer. They do not keep others from moving. */
static void volumes_that_were_given_up_are_waited_for(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		add_move(a, i ? "x" : "y", "b")->given_up = true;
	add_dataset(a, "one", 1, "");
	add_push(a, "one", "c", 1);
	meanwhile = the_other_node_answers;
	assert_drains("one\tc\tmoved\t-\ny\tb\tmoved\t-\nx\tb\tmoved\t-\n", true);
}

static void a_volume_that_came_meanwhile(void)
{
	if (a->moved)
		add_dataset(a, "late", 1, "");
	else
		meanwhile = a_volume_that_came_meanwhile;
}

static void the_end_is_what_the_node_has_then(void **state)
{
	(void)state;
	add_dataset(a, "one", 1, "");
	add_push(a, "one", "b", 1);
	meanwhile = a_volume_that_came_meanwhile;
	assert_drains("one\tb\tmoved\t-\n"
		      "late\t-\tstays\tit has no copy; run 'zcsi copy add late NODE' and 'zcsi "
		      "sync late' first\n",
		      false);
}

static void the_volume_returns(void)
{
	meanwhile = the_volume_returns;
	if (!a->moved || !b->n_datasets)
		return;
	b->n_datasets = 0;
	add_dataset(a, "one", 1, "");
}

/* A volume is moved, and somebody moves it back before the end. */
static void a_volume_that_returned_has_one_row(void **state)
{
	int result;

	(void)state;
	add_dataset(a, "one", 1, "");
	add_push(a, "one", "b", 1);
	meanwhile = the_volume_returns;
	cli.style = (struct style){.json = true};
	const char *text = printed(cli_drain, "a", &result);
	assert_failed(result, ERR_FAILED_PRECONDITION, "1 of 1 volumes stay on node 'a'");
	assert_non_null(strstr(text, "\"stays\""));
	assert_null(strstr(text, "\"moved\""));
}

static void the_agent_fails(void)
{
	if (a->moving)
		a->silent = ERR_UNAVAILABLE;
	else
		meanwhile = the_agent_fails;
}

static void a_node_that_ends_in_the_middle(void **state)
{
	int result;

	(void)state;
	for (int i = 0; i < 10; i++) {
		const char *id = arena_printf(&call.arena, "v%d", i);
		add_dataset(a, id, 1, "");
		add_push(a, id, "b", 1);
	}
	meanwhile = the_agent_fails;
	const char *text = printed(cli_drain, "a", &result);
	assert_failed(result, ERR_UNAVAILABLE, "not known what is still on node 'a'");
	assert_non_null(strstr(text, "v0\tb\tstays\t"));
	assert_non_null(strstr(text, "v9\tb\tstays\t"));
	assert_in_range(a->unanswered, 1, 9); /* not one call for each volume */
}

static void a_node_that_does_not_answer(void **state)
{
	int result;

	(void)state;
	printed(cli_drain, "z", &result);
	assert_failed(result, ERR_NOT_FOUND, "no agent is that of node 'z'");
	a->silent = ERR_UNAVAILABLE;
	printed(cli_drain, "a", &result);
	assert_failed(result, ERR_UNAVAILABLE, "'unix:///a' does not answer");
}

static void json_has_all_volumes(void **state)
{
	int result;

	(void)state;
	add_dataset(a, "bare", 1, "");
	add_dataset(a, "one", 1, "");
	add_push(a, "one", "b", 1);
	cli.style = (struct style){.json = true};
	const char *text = printed(cli_drain, "a", &result);
	assert_int_equal(result, -1);
	assert_non_null(strstr(text, "{\"volume\": \"one\", \"to\": \"b\", \"state\": \"moved\", "
				     "\"why\": null},\n  {\"volume\": \"bare\", \"to\": null, "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(a_volume_goes_to_the_copy_that_is_least_behind),
		CLI_TEST(of_equal_copies_that_with_more_space_is_taken),
		CLI_TEST(two_move_at_a_time),
		CLI_TEST(each_volume_that_stays_has_a_reason),
		CLI_TEST(the_reason_of_the_agent_is_printed),
		CLI_TEST(a_slow_call_stops_one_move_only),
		CLI_TEST(a_silent_agent_may_move_the_volume),
		CLI_TEST(a_dry_run_moves_nothing),
		CLI_TEST(moves_that_run_are_waited_for),
		CLI_TEST(volumes_that_were_given_up_are_waited_for),
		CLI_TEST(the_end_is_what_the_node_has_then),
		CLI_TEST(a_volume_that_returned_has_one_row),
		CLI_TEST(a_node_that_ends_in_the_middle),
		CLI_TEST(a_node_that_does_not_answer),
		CLI_TEST(json_has_all_volumes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
