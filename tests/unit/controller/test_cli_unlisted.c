/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of commands that must not treat a host as gone: a host whose agent refuses the caller, and
 * a known host that was not asked.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

static struct client *const a = &scripted[0], *const b = &scripted[1], *const c = &scripted[2];

static void know(const char *node, const char *endpoint, bool forgotten)
{
	const struct host_row row = {.node_id = arena_strdup(&call.arena, node),
				     .endpoint = arena_strdup(&call.arena, endpoint),
				     .dataset = arena_strdup(&call.arena, "tank/csi"),
				     .stamp = forgotten ? 2 : 1,
				     .forgotten = forgotten};

	host_list_set(&a->hosts, &row);
}

static void a_host_whose_agent_refuses_is_not_forgotten(void **state)
{
	int result;

	(void)state;
	know("c", "unix:///c", false);
	cli.gone = true;
	c->silent = ERR_PERMISSION_DENIED;
	printed(cli_forget, "c", &result);
	assert_failed(result, ERR_FAILED_PRECONDITION, "does not return its node id");
	assert_false(a->hosts.rows[0].forgotten);
	c->silent = ERR_UNAVAILABLE;
	printed(cli_forget, "c", &result);
	assert_int_equal(result, 0);
	assert_true(a->hosts.rows[0].forgotten);
}

/* Without a certificate zcsi asks agents on this host only, and no other host in plain text. */
static void a_host_that_zcsi_may_not_call_is_forgotten_by_a_statement(void **state)
{
	int result;

	(void)state;
	know("c", "unix:///c", false);
	c->silent = ERR_FAILED_PRECONDITION;
	cli.gone = true;
	const char *text = printed(cli_forget, "c", &result);
	assert_int_equal(result, 0);
	assert_non_null(strstr(text, "it was not asked whether it is up: no answer from"));
	assert_true(a->hosts.rows[0].forgotten);
}

static int drop(void)
{
	static const char *args[] = {"drop", "data", "b"};

	b->backup = new_backup_state(&call.arena);
	cli.args = args;
	cli.n_args = COUNT(args);
	ask_members();
	int result = cli_backup(&cli, &err);
	assert_null(b->backup);
	return result;
}

static void a_dropped_backup_may_have_left_its_bookmark(void **state)
{
	(void)state;
	assert_int_equal(drop(), 0);
	know("d", "tcp://d:1", false);
	assert_failed(drop(), ERR_UNAVAILABLE, "the backup is destroyed, but its bookmark");
	know("d", "tcp://d:1", true);
	assert_int_equal(drop(), 0);
	c->silent = ERR_UNAVAILABLE;
	assert_failed(drop(), ERR_UNAVAILABLE, "the backup is destroyed, but the owner may keep");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(a_host_whose_agent_refuses_is_not_forgotten),
		CLI_TEST(a_host_that_zcsi_may_not_call_is_forgotten_by_a_statement),
		CLI_TEST(a_dropped_backup_may_have_left_its_bookmark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
