/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the names that agents have: the roll call reads them, and they count after the agent has
 * left the list.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include "controller/roll_hosts.h"
#include "controller/rollcall.h"
#include "controller/roster_absent.h"

static struct roster roster;

/* Put the first n of the agents on the list. */
static void name_agents(size_t n)
{
	const char *endpoints[N_AGENTS];
	struct error err;

	for (size_t i = 0; i < n; i++)
		endpoints[i] = scripted[i].endpoint;
	assert_int_equal(roster_name(&roster, endpoints, n, &err), 0);
	roll_hosts_read(&roster);
	roster_open(&roster);
}

static int setup(void **state)
{
	static const struct client_options options;

	assert_int_equal(scripted_setup(state), 0);
	for (size_t i = 0; i < N_AGENTS; i++) {
		scripted[i].pool_guid = i + 1;
		scripted[i].names = 10 * (i + 1);
	}
	roster_init(&roster, NULL, &options);
	name_agents(N_AGENTS);
	return 0;
}

static int teardown(void **state)
{
	roster_fini(&roster);
	return scripted_teardown(state);
}

static int check(const char *volume)
{
	struct error err;
	const struct missing missing = {roster.asked, NAME_VOLUME, volume, "volume"};
	int failed = roster_check_missing(&roster, &missing, &err);

	if (failed)
		assert_failed(failed, ERR_UNAVAILABLE, "node 'c', whose agent 'unix:///c'");
	return failed;
}

static void the_names_of_an_agent_that_left_count(void **state)
{
	(void)state;
	for (const char *const *id = (const char *const[]){"v1", "v2", "v3", "v4", "v5", NULL}; *id;
	     id++)
		add_dataset(&scripted[2], *id, 1, "");
	rollcall(&roster, 0);
	assert_int_equal(check("v1"), 0); /* c is on the list, and is asked itself */
	name_agents(2);
	for (const char *const *id = (const char *const[]){"v1", "v2", "v3", "v4", "v5", NULL}; *id;
	     id++)
		assert_int_equal(check(*id), -1);
	assert_int_equal(check("v6"), 0);
	struct error err;
	const struct missing other = {roster.asked, NAME_SNAPSHOT, "v1", ""};
	assert_int_equal(roster_check_missing(&roster, &other, &err), 0);
	name_agents(N_AGENTS);
	assert_int_equal(check("v1"), -1); /* fails until c answers a roll call */
	rollcall(&roster, 0);
	assert_int_equal(check("v1"), 0);
}

static void names_are_read_when_they_have_changed(void **state)
{
	(void)state;
	add_dataset(&scripted[2], "old", 1, "");
	rollcall(&roster, 0);
	rollcall(&roster, 0);
	assert_int_equal(scripted[2].names_read, 1);
	scripted[2].n_datasets = 0;
	add_dataset(&scripted[2], "new", 1, "");
	scripted[2].names++;
	rollcall(&roster, 0);
	assert_int_equal(scripted[2].names_read, 2);
	name_agents(2);
	assert_int_equal(check("old"), 0);
	assert_int_equal(check("new"), -1);
}

static void a_name_that_is_being_created_counts(void **state)
{
	(void)state;
	rollcall(&roster, 0);
	const struct agent *agent = roster.named->list[2];
	roster_add_name(&roster, agent, NAME_VOLUME, "before");
	struct agent_set *held = roster_take(&roster);
	name_agents(2);
	roster_add_name(&roster, agent, NAME_VOLUME, "after");
	roster_put(&roster, held);
	assert_int_equal(check("before"), -1);
	assert_int_equal(check("after"), -1);
}

static void a_name_that_the_host_might_still_create_counts(void **state)
{
	(void)state;
	scripted[2].may_have = name_hash(NAME_VOLUME, "may");
	rollcall(&roster, 0);
	name_agents(2);
	assert_int_equal(check("may"), -1);
	assert_int_equal(check("other"), 0);
}

static void add_late(void)
{
	roster_add_name(&roster, roster.named->list[2], NAME_VOLUME, "late");
}

static void a_name_that_is_added_during_a_roll_call_counts(void **state)
{
	(void)state;
	meanwhile = add_late;
	rollcall(&roster, 0);
	name_agents(2);
	assert_int_equal(check("late"), -1);
}

static void an_added_name_lasts_until_a_later_reading(void **state)
{
	struct names names = {.version = 0};

	(void)state;
	names_add(&names, 1);
	names_begin(&names);
	names_add(&names, 2);
	names_take(&names, 7, (const uint64_t[]){3, 5}, 2);
	assert_false(names_have(&names, 1));
	assert_true(names_have(&names, 2));
	assert_true(names_have(&names, 3) && names_have(&names, 5) && !names_have(&names, 4));
	names_begin(&names);
	names_take(&names, 8, NULL, 0);
	assert_false(names_have(&names, 2) || names_have(&names, 3));
	names_fini(&names);
}

static void a_pool_under_another_node_is_no_more_absent(void **state)
{
	(void)state;
	add_dataset(&scripted[2], "v", 1, "");
	rollcall(&roster, 0);
	name_agents(2);
	assert_int_equal(check("v"), -1);
	/* The host was renamed: another endpoint and node, the same pool. */
	scripted[2].endpoint = "unix:///d";
	scripted[2].node = "d";
	name_agents(N_AGENTS);
	rollcall(&roster, 0);
	assert_int_equal(check("v"), 0);
}

static void a_host_is_forgotten(void **state)
{
	(void)state;
	add_dataset(&scripted[2], "v", 1, "");
	rollcall(&roster, 0);
	name_agents(2);
	roster_forget(&roster, 1000000);
	assert_int_equal(check("v"), -1);
	roster_forget(&roster, 0);
	assert_int_equal(check("v"), 0);
}

/* Change when the host c left the list, as another controller does. */
static void set_since(int64_t since)
{
	struct host_row row = *host_list_find(&roster.hosts, "c");

	row.since = since;
	host_list_set(&roster.hosts, &row);
}

static void a_host_on_the_list_of_another_controller_is_not_forgotten(void **state)
{
	(void)state;
	add_dataset(&scripted[2], "v", 1, "");
	rollcall(&roster, 0);
	roster_settle(&roster);
	set_since(1);
	roster_settle(&roster);
	assert_int_equal(host_list_find(&roster.hosts, "c")->since, 0);
	name_agents(2);
	set_since(0);
	roster_forget(&roster, 0);
	assert_int_equal(check("v"), -1);
	roster_forget(&roster, 0); /* the other controller has not reset the time */
	assert_int_equal(check("v"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_names_of_an_agent_that_left_count, setup,
						teardown),
		cmocka_unit_test_setup_teardown(names_are_read_when_they_have_changed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_name_that_is_being_created_counts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_name_that_the_host_might_still_create_counts,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_that_is_added_during_a_roll_call_counts,
						setup, teardown),
		cmocka_unit_test(an_added_name_lasts_until_a_later_reading),
		cmocka_unit_test_setup_teardown(a_pool_under_another_node_is_no_more_absent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_host_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_host_on_the_list_of_another_controller_is_not_forgotten, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
