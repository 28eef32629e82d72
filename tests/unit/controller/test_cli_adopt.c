/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of zcsi adopt: which dataset and which volume its words mean, also those of the command
 * that zcsi prints for something that was received.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

#include "controller/cli/adopt.h"

static const AdoptDatasetRequest *asked; /* the request that an agent has got; NULL: none */

typeof(fleet_ask_member) __real_fleet_ask_member, __wrap_fleet_ask_member;

/* Keep the request, and call another method instead, whose response the command does not read. */
struct reply __wrap_fleet_ask_member(struct fleet *fleet, struct arena *arena,
				     const struct member *member, const char *method,
				     const ProtobufCMessage *request)
{
	if (strcmp(method, "AdoptDataset") != 0)
		return __real_fleet_ask_member(fleet, arena, member, method, request);
	asked = (const AdoptDatasetRequest *)request;
	return __real_fleet_ask_member(fleet, arena, member, "GetHost",
				       &new_get_host_request(arena)->base);
}

static int adopt(const char *what, const char *as)
{
	const char **args = arena_alloc(&cli.arena, sizeof(*args));

	args[0] = what;
	cli.args = args;
	cli.n_args = 1;
	cli.node = "a";
	cli.as = as;
	asked = NULL;
	ask_members();
	return cli_adopt(&cli, &err);
}

static void assert_asked(const char *id, const char *dataset, const char *format)
{
	assert_non_null(asked);
	assert_string_equal(asked->id, id);
	assert_string_equal(asked->dataset, dataset);
	assert_string_equal(asked->format, format);
	assert_int_not_equal(asked->claim, 0);
}

static void a_word_with_a_slash_is_a_dataset(void **state)
{
	(void)state;
	assert_int_equal(adopt("pool-a/other/acme", NULL), 0);
	assert_asked("acme", "pool-a/other/acme", "");
	assert_int_equal(asked->size, 0);
	assert_int_equal(adopt("pool-a/other/acme", "films"), 0);
	assert_asked("films", "pool-a/other/acme", "");
	cli.format = "ext4";
	assert_int_equal(adopt("pool-a/other/acme", "films/one"), 0);
	assert_asked("films/one", "pool-a/other/acme", "ext4");
}

static void another_word_is_what_was_received(void **state)
{
	(void)state;
	assert_int_equal(adopt("acme", NULL), 0);
	assert_asked("acme", "", "zfs");
	assert_int_equal(adopt("a name", "films"), 0);
	assert_asked("films", "pool-a/csi/_received/a_20name", "");
}

static void the_printed_command_names_what_was_received(void **state)
{
	(void)state;
	ask_members();
	assert_string_equal(making_command(&cli.arena, &cli.members[0], "acme"), "zcsi adopt acme");
	assert_string_equal(making_command(&cli.arena, &cli.members[0], "a/b"),
			    "zcsi adopt pool-a/csi/_received/a_2Fb --as a/b");
	assert_int_equal(adopt("pool-a/csi/_received/a_2Fb", "a/b"), 0);
	assert_asked("a/b", "pool-a/csi/_received/a_2Fb", "");
}

static void a_name_that_is_taken_is_refused(void **state)
{
	(void)state;
	add_dataset(&scripted[1], "films", 1 << 20, "");
	assert_failed(adopt("pool-a/other/acme", "films"), ERR_ALREADY_EXISTS,
		      "'films' exists on node 'b'");
	assert_failed(adopt("pool-a/other/films", NULL), ERR_ALREADY_EXISTS,
		      "'films' exists on node 'b'");
	assert_null(asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(a_word_with_a_slash_is_a_dataset),
		CLI_TEST(another_word_is_what_was_received),
		CLI_TEST(the_printed_command_names_what_was_received),
		CLI_TEST(a_name_that_is_taken_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
