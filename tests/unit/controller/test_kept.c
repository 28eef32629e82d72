/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of what agents keep for controllers that start anew: the hosts of the cluster, and the
 * names of those that are off the list.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include <time.h>

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
}

static void call_roll(void)
{
	rollcall(&roster, 0);
	roll_hosts_read(&roster);
	roster_open(&roster);
	roll_hosts_send(&roster);
}

/* Start a controller that knows the first n agents. */
static void start(size_t n)
{
	static const struct client_options options;

	roster_init(&roster, NULL, &options);
	name_agents(n);
	call_roll();
}

static void restart(size_t n)
{
	roster_fini(&roster);
	start(n);
}

static int setup(void **state)
{
	assert_int_equal(scripted_setup(state), 0);
	for (size_t i = 0; i < N_AGENTS; i++) {
		scripted[i].pool_guid = i + 1;
		scripted[i].names = 10 * (i + 1);
	}
	add_dataset(&scripted[2], "v", 1, "");
	add_dataset(&scripted[2], "w", 1, "");
	add_dataset(&scripted[2], "x", 1, "");
	start(N_AGENTS);
	return 0;
}

static int teardown(void **state)
{
	roster_fini(&roster);
	return scripted_teardown(state);
}

static int check(const char *volume, const char *text)
{
	struct error err;
	const struct missing missing = {roster.asked, NAME_VOLUME, volume, "volume"};
	int failed = roster_check_missing(&roster, &missing, &err);

	if (failed)
		assert_failed(failed, ERR_UNAVAILABLE, text);
	return failed;
}

static void names_outlive_the_controller(void **state)
{
	(void)state;
	restart(2);
	assert_int_equal(check("v", "volume was on node 'c', whose agent 'unix:///c' is off"), -1);
	assert_int_equal(check("x", "--forget 'c'"), -1);
	assert_int_equal(check("other", ""), 0);
	name_agents(N_AGENTS);
	call_roll();
	assert_int_equal(check("v", ""), 0);
	restart(N_AGENTS);
	assert_null(roster.absent);
}

static void names_are_kept_with_their_barrier(void **state)
{
	(void)state;
	scripted[2].barrier = 77;
	scripted[2].may_have = name_hash(NAME_VOLUME, "may");
	scripted[2].names++;
	call_roll();
	restart(2);
	assert_int_equal(roster.absent->names.barrier, 77);
	assert_int_equal(check("may", "was on node 'c'"), -1);
}

static void the_last_barrier_is_kept_when_a_host_stops_answering(void **state)
{
	(void)state;
	scripted[2].barrier = 77; /* the names of c are unchanged */
	call_roll();
	scripted[2].silent = ERR_UNAVAILABLE;
	call_roll();
	restart(2);
	assert_int_equal(roster.absent->names.barrier, 77);
}

static void a_host_without_kept_names_may_have_any_name(void **state)
{
	(void)state;
	scripted[0].n_kept = scripted[1].n_kept = 0;
	restart(2);
	assert_int_equal(check("v", "may be on node 'c'"), -1);
	assert_int_equal(check("other", "may be on node 'c'"), -1);
}

static void a_host_without_a_pool_has_no_names(void **state)
{
	(void)state;
	scripted[2].n_datasets = 0;
	scripted[2].pool = "";
	scripted[2].pool_guid = scripted[2].names = 0;
	call_roll();
	scripted[0].n_kept = scripted[1].n_kept = 0;
	restart(2);
	assert_non_null(roster.absent);
	assert_int_equal(check("v", ""), 0);
}

static void names_count_as_they_were_when_the_host_left(void **state)
{
	(void)state;
	roster_add_name(&roster, roster.named->list[2], NAME_VOLUME, "new");
	name_agents(2);
	call_roll();
	restart(2);
	assert_int_equal(check("new", "was on node 'c'"), -1);
	assert_int_equal(check("v", "was on node 'c'"), -1);
}

/* Let agent a keep names of c that were read so many seconds before those that agent b keeps. */
static void keep_old(int64_t seconds)
{
	KeepNamesRequest *old = scripted[0].kept[scripted[0].n_kept - 1];

	assert_string_equal(old->node_id, "c");
	old->read -= seconds * 1000000;
	old->hashes[0] = name_hash(NAME_VOLUME, "old");
}

static void the_latest_names_count(void **state)
{
	(void)state;
	keep_old(120);
	restart(2);
	assert_int_equal(check("old", ""), 0);
	keep_old(30); /* the clocks of controllers may differ by 30 s */
	restart(2);
	assert_int_equal(check("old", "was on node 'c'"), -1);
	assert_int_equal(check("v", "was on node 'c'"), -1);
}

static void a_keeper_that_comes_up_is_asked(void **state)
{
	(void)state;
	scripted[1].n_kept = 0;
	scripted[0].silent = ERR_UNAVAILABLE;
	restart(2);
	assert_int_equal(check("other", "may be on node 'c'"), -1);
	scripted[0].silent = ERR_OK;
	rollcall(&roster, 0);
	assert_int_equal(check("other", "may be on node 'c'"), -1);
	roll_hosts_read(&roster);
	assert_int_equal(check("other", ""), 0);
	assert_int_equal(check("v", "was on node 'c'"), -1);
}

static void an_agent_counts_once_its_hosts_are_read(void **state)
{
	struct error err;

	(void)state;
	scripted[0].silent = ERR_UNAVAILABLE;
	host_list_fini(&scripted[1].hosts);
	restart(2);
	assert_null(roster.absent); /* agent a, which alone has the record of c, is silent */
	const struct agent *a = roster.named->list[0], *b = roster.named->list[1];
	assert_failed(roster_check_hosts(&roster, a, "volume 'v'", &err), ERR_UNAVAILABLE,
		      "volume 'v' may be on a host that is on the list of agent 'unix:///a'");
	assert_int_equal(roster_check_hosts(&roster, b, "volume 'v'", &err), 0);
	scripted[0].silent = ERR_OK;
	call_roll();
	assert_int_equal(roster_check_hosts(&roster, a, "volume 'v'", &err), 0);
	assert_int_equal(check("v", "was on node 'c'"), -1);
}

static void a_host_is_forgotten_by_all(void **state)
{
	(void)state;
	restart(2);
	roster_forget(&roster, 1000000);
	assert_int_equal(check("v", "was on node 'c'"), -1);
	roster_forget(&roster, 0);
	assert_int_equal(check("v", ""), 0);
	roll_hosts_send(&roster);
	restart(2);
	assert_int_equal(check("v", ""), 0);
	name_agents(N_AGENTS); /* c is on the list again, and leaves it again */
	call_roll();
	name_agents(2);
	call_roll();
	assert_int_equal(check("v", "was on node 'c'"), -1);
}

static void the_time_counts_from_when_it_left(void **state)
{
	(void)state;
	name_agents(2);
	call_roll();
	struct host_row row = *host_list_find(&roster.hosts, "c");
	assert_in_range(row.since, time(NULL) - 60, time(NULL));
	row.since -= 100;
	host_list_set(&roster.hosts, &row);
	roll_hosts_send(&roster);
	restart(2);
	roster_forget(&roster, 200000);
	assert_int_equal(check("v", "was on node 'c'"), -1);
	roster_forget(&roster, 100000);
	assert_int_equal(check("v", ""), 0);
}

static void an_option_forgets_a_host(void **state)
{
	const char *nodes[] = {"c", "b"}; /* b is on the list, so it is not forgotten */
	const struct option_list forget = {.values = nodes, .n = COUNT(nodes)};

	(void)state;
	restart(2);
	assert_int_equal(check("v", "was on node 'c'"), -1);
	roster.forget = &forget;
	roster.unsettled = true;
	call_roll();
	assert_int_equal(check("v", ""), 0);
	assert_false(host_list_find(&roster.hosts, "b")->forgotten);
	restart(2);
	assert_int_equal(check("v", ""), 0);
}

static void a_pool_at_another_node_is_not_absent(void **state)
{
	(void)state;
	scripted[2].endpoint = "unix:///d";
	scripted[2].node = "d";
	restart(N_AGENTS);
	assert_null(roster.absent);
	assert_true(host_list_find(&roster.hosts, "c")->forgotten);
}

static void a_listed_host_that_does_not_answer_is_not_absent(void **state)
{
	(void)state;
	scripted[2].silent = ERR_UNAVAILABLE;
	restart(N_AGENTS);
	assert_null(roster.absent);
}

static void nothing_is_sent_twice(void **state)
{
	(void)state;
	assert_int_equal(scripted[0].hosts_kept, 1);
	assert_int_equal(scripted[0].hosts.n, N_AGENTS);
	for (size_t i = 0; i < N_AGENTS; i++)
		assert_int_equal(scripted[i].n_kept, N_AGENTS - 1);
	scripted[0].n_kept = 0;
	call_roll();
	assert_int_equal(scripted[0].hosts_kept, 1);
	assert_int_equal(scripted[0].n_kept, 0);
	scripted[1].names++;
	call_roll();
	assert_int_equal(scripted[0].n_kept, 1);
	restart(N_AGENTS);
	assert_int_equal(scripted[0].hosts_kept, 1);
	assert_int_equal(scripted[0].hosts_listed + scripted[1].hosts_listed +
				 scripted[2].hosts_listed,
			 1); /* only one of the agents with equal lists is asked */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_outlive_the_controller),
		TEST(names_are_kept_with_their_barrier),
		TEST(the_last_barrier_is_kept_when_a_host_stops_answering),
		TEST(a_host_without_kept_names_may_have_any_name),
		TEST(a_host_without_a_pool_has_no_names),
		TEST(names_count_as_they_were_when_the_host_left),
		TEST(the_latest_names_count),
		TEST(a_keeper_that_comes_up_is_asked),
		TEST(an_agent_counts_once_its_hosts_are_read),
		TEST(a_host_is_forgotten_by_all),
		TEST(the_time_counts_from_when_it_left),
		TEST(an_option_forgets_a_host),
		TEST(a_pool_at_another_node_is_not_absent),
		TEST(a_listed_host_that_does_not_answer_is_not_absent),
		TEST(nothing_is_sent_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
