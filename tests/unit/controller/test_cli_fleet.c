/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of calls of zcsi to several agents: pages are joined, an agent that fails is named, and the
 * entries of the other agents are listed.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

static void an_agent_named_twice_is_asked_once(void **state)
{
	(void)state;
	ask_members();
	assert_int_equal(cli.n_members, 3);
	assert_string_equal(cli.members[1].node, "b");
}

static void pages_of_all_agents_are_joined(void **state)
{
	size_t n;

	(void)state;
	for (int i = 0; i < 1999; i++)
		add_dataset(&scripted[0], arena_printf(&cli.arena, "v%04d", i), 1, "");
	add_dataset(&scripted[1], "v0001", 1, "");
	add_dataset(&scripted[1], "zz", 1, "");
	ask_members();
	const struct owned *all = cli_volumes(&cli, NULL, &n);
	assert_int_equal(n, 2001);
	assert_int_equal(scripted[0].listed, 2);
	assert_string_equal(all[1].owner->node, "a");
	assert_string_equal(all[2].owner->node, "b");
	assert_string_equal(all[2].id, "v0001");
	assert_string_equal(all[2000].id, "zz");
	cli_volumes(&cli, "v0001", &n);
	assert_int_equal(n, 2);
}

static void an_agent_with_two_endpoints_is_one_member(void **state)
{
	size_t n;

	(void)state;
	scripted[0].boot = scripted[1].boot = "boot";
	scripted[1].node = scripted[0].node;
	scripted[1].pool = scripted[0].pool;
	add_dataset(&scripted[0], "v", 1, "");
	add_dataset(&scripted[2], "w", 1, "");
	ask_members();
	assert_int_equal(cli.n_members, 2);
	assert_string_equal(cli.members[1].node, "c");
	cli_volumes(&cli, NULL, &n);
	assert_int_equal(n, 2);
	assert_int_equal(scripted[1].listed, 0);
	assert_int_equal(scripted[2].listed, 1);
}

static void an_earlier_agent_with_two_endpoints_is_one_member(void **state)
{
	(void)state;
	scripted[1].node = scripted[0].node;
	scripted[1].pool = scripted[0].pool;
	scripted[0].pool_guid = scripted[1].pool_guid = 7;
	ask_members();
	assert_int_equal(cli.n_members, 2);
	assert_string_equal(cli.members[1].node, "c");
}

static void two_hosts_with_one_node_id_are_two_members(void **state)
{
	(void)state;
	scripted[0].boot = "boot";
	scripted[1].boot = "another";
	scripted[1].node = scripted[0].node;
	scripted[1].pool = scripted[0].pool;
	ask_members();
	assert_int_equal(cli.n_members, 3);
	scripted[0].boot = scripted[1].boot = NULL; /* agents of an earlier version */
	ask_members();
	assert_int_equal(cli.n_members, 3);
	scripted[0].pool_guid = 7;
	scripted[1].pool_guid = 8;
	ask_members();
	assert_int_equal(cli.n_members, 3);
}

static void an_agent_that_fails_is_named(void **state)
{
	size_t n;

	(void)state;
	add_dataset(&scripted[0], "one", 1, "");
	add_dataset(&scripted[1], "two", 1, "");
	scripted[1].lookup = ERR_UNAVAILABLE;
	scripted[2].silent = ERR_UNAVAILABLE;
	ask_members();
	assert_string_equal(cli.members[2].node, "unix:///c");
	cli_volumes(&cli, NULL, &n);
	assert_int_equal(n, 1);
	assert_int_equal(cli.members[0].error.code, ERR_OK);
	assert_int_equal(cli.members[1].error.code, ERR_UNAVAILABLE);
	assert_int_equal(cli.members[2].error.code, ERR_UNAVAILABLE);
}

static int64_t limit_of(int64_t least_ms)
{
	const ProtobufCMessage *request = &new_get_host_request(&cli.arena)->base;

	return fleet_begin_long(cli.fleet, &cli.arena, 0, "GetHost", request, least_ms)->deadline -
	       now_ms();
}

static void a_long_call_may_take_longer_than_a_question(void **state)
{
	(void)state;
	assert_in_range(limit_of(60000), 59000, 60000);
	assert_in_range(limit_of(10), 500, 1000); /* --timeout is longer than 10 ms */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(an_agent_named_twice_is_asked_once),
		CLI_TEST(pages_of_all_agents_are_joined),
		CLI_TEST(an_agent_with_two_endpoints_is_one_member),
		CLI_TEST(an_earlier_agent_with_two_endpoints_is_one_member),
		CLI_TEST(two_hosts_with_one_node_id_are_two_members),
		CLI_TEST(an_agent_that_fails_is_named),
		CLI_TEST(a_long_call_may_take_longer_than_a_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
