/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of zcsi check: the order of its rows, and agents that do not answer its call. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

static CheckHostResponse *things[N_AGENTS]; /* answers of the agents; NULL: an earlier version */

static void add_thing(size_t at, const char *name, bool needed, const char *remedy)
{
	CheckedThing *thing = new_checked_thing(&cli.arena);

	if (!things[at]->things)
		things[at]->things = arena_alloc(&cli.arena, 8 * sizeof(thing));
	thing->thing = (char *)name;
	thing->needed = needed;
	thing->remedy = (char *)remedy;
	things[at]->things[things[at]->n_things++] = thing;
}

static int begin(void **state)
{
	if (cli_begin(state))
		return -1;
	for (size_t i = 0; i < N_AGENTS; i++) {
		things[i] = new_check_host_response(&cli.arena);
		add_thing(i, "TLS", true, "");
	}
	return 0;
}

static struct reply answer(size_t at)
{
	struct reply reply = {.response = things[at]};

	if (!things[at])
		fail(&reply.error, ERR_UNIMPLEMENTED, "CheckHost");
	return reply;
}

typeof(fleet_ask) __real_fleet_ask, __wrap_fleet_ask;

struct reply *__wrap_fleet_ask(struct fleet *fleet, struct arena *arena, const char *method,
			       const ProtobufCMessage *request)
{
	if (strcmp(method, "CheckHost") != 0)
		return __real_fleet_ask(fleet, arena, method, request);
	struct reply *replies = arena_alloc(arena, N_AGENTS * sizeof(*replies));
	for (size_t i = 0; i < N_AGENTS; i++)
		replies[i] = answer(i);
	return replies;
}

typeof(fleet_ask_member) __wrap_fleet_ask_member;

struct reply __wrap_fleet_ask_member(struct fleet *fleet, struct arena *arena,
				     const struct member *member, const char *method,
				     const ProtobufCMessage *request)
{
	(void)fleet, (void)arena, (void)request;
	assert_string_equal(method, "CheckHost");
	return answer(member->at);
}

static int check_all(struct cli *of, struct error *error)
{
	of->n_args = 0;
	return cli_check(of, error);
}

/* Run zcsi check for all nodes. Returns its output. */
static const char *page_of_all(bool degraded)
{
	int result;
	const char *page = printed(check_all, "", &result);

	assert_int_equal(result, 0);
	assert_false(cli.failed);
	assert_int_equal(cli.degraded, degraded);
	return page;
}

static void the_worst_comes_first(void **state)
{
	(void)state;
	add_thing(0, "program 'mkfs.xfs'", false, "install xfsprogs");
	add_thing(0, "mount propagation", true, "run 'mount --make-rshared /'");
	add_thing(2, "pool of 'tank/zcsi'", true, "import it");
	assert_string_equal(page_of_all(true),
			    "MISSING\ta\tmount propagation\trun 'mount --make-rshared /'\n"
			    "MISSING\tc\tpool of 'tank/zcsi'\timport it\n"
			    "optional\ta\tprogram 'mkfs.xfs'\tinstall xfsprogs\n"
			    "ok\ta\tTLS\t-\n"
			    "ok\tb\tTLS\t-\n"
			    "ok\tc\tTLS\t-\n");
}

static void people_see_what_is_missing_only(void **state)
{
	(void)state;
	cli.style.bare = false;
	assert_string_equal(page_of_all(false), "nothing is missing\n");
	add_thing(1, "program 'mkfs.xfs'", false, "install xfsprogs");
	const char *page = page_of_all(false);
	assert_non_null(strstr(page, "mkfs.xfs"));
	assert_null(strstr(page, "TLS"));
}

static void people_see_all_of_a_node(void **state)
{
	int result;

	(void)state;
	cli.style.bare = false;
	add_thing(1, "pool of 'tank/zcsi'", true, "import it");
	const char *page = printed(cli_check, "a", &result);
	assert_int_equal(result, 0);
	assert_false(cli.degraded);
	assert_non_null(strstr(page, "TLS"));
	assert_null(strstr(page, "pool of"));
}

static void another_node_that_is_silent_does_not_matter(void **state)
{
	int result;

	(void)state;
	scripted[1].silent = ERR_UNAVAILABLE;
	assert_string_equal(printed(cli_check, "a", &result), "ok\ta\tTLS\t-\n");
	assert_int_equal(result, 0);
	assert_false(cli.degraded);
}

static void a_silent_agent_is_no_good_news(void **state)
{
	(void)state;
	cli.style.bare = false;
	scripted[1].silent = ERR_UNAVAILABLE;
	things[1] = NULL;
	assert_null(strstr(page_of_all(true), "nothing is missing"));
}

static void an_agent_of_an_earlier_version_is_named(void **state)
{
	int result;

	(void)state;
	things[1] = NULL;
	page_of_all(true);
	assert_int_equal(cli.members[1].error.code, ERR_UNIMPLEMENTED);
	printed(cli_check, "b", &result);
	assert_int_equal(result, -1);
	assert_int_equal(err.code, ERR_UNIMPLEMENTED);
	assert_non_null(strstr(err.text, "node 'b' did not report"));
}

static void an_unknown_node_is_refused(void **state)
{
	int result;

	(void)state;
	assert_string_equal(printed(cli_check, "n9", &result), "");
	assert_int_equal(result, -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, cli_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_worst_comes_first),
		TEST(people_see_what_is_missing_only),
		TEST(people_see_all_of_a_node),
		TEST(another_node_that_is_silent_does_not_matter),
		TEST(a_silent_agent_is_no_good_news),
		TEST(an_agent_of_an_earlier_version_is_named),
		TEST(an_unknown_node_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
