/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the rule of repairs, of the silences, and of the choice of the node that takes the place
 * of a lost one.
 */
#include "node/repair/decide.h"

#include <string.h>

#include "common/volume/plugin.h"
#include "node/repair/candidates.h"
#include "node/repair/silence.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

#define AFTER 60

/* Returns the decision for a volume of n1 that is to be on two nodes, in a cluster of three. */
static struct repair decide(const struct repair_member *members, size_t n)
{
	const struct repair_facts facts = {.after = AFTER,
					   .wanted = 2,
					   .members = members,
					   .n = n,
					   .agents = 3,
					   .silent = 1,
					   .candidates = 1};

	return repair_decide(&facts);
}

#define DECIDE(...)                                                                                \
	decide((const struct repair_member[]){__VA_ARGS__},                                        \
	       COUNT(((const struct repair_member[]){__VA_ARGS__})))

static void assert_step(struct repair repair, enum repair_step step, const char *lost)
{
	assert_int_equal(repair.step, step);
	assert_null(repair.why);
	if (lost)
		assert_string_equal(repair.lost, lost);
	else
		assert_null(repair.lost);
}

static void a_node_is_replaced_after_its_time_only(void **state)
{
	(void)state;
	assert_step(DECIDE({"n2", 0, 5}), REPAIR_NONE, NULL);
	assert_step(DECIDE({"n2", AFTER, 5}), REPAIR_NONE, NULL);
	assert_step(DECIDE({"n2", AFTER + 1, 5}), REPAIR_ADD, "n2");
	/* A member that has no complete copy yet (synced: 0) is replaced too. */
	assert_step(DECIDE({"n2", AFTER + 1, 0}), REPAIR_ADD, "n2");
}

static void without_a_time_nothing_is_replaced(void **state)
{
	const struct repair_member lost = {"n2", INT64_MAX, 5};
	struct repair_facts facts = {
		.wanted = 2, .members = &lost, .n = 1, .agents = 9, .silent = 1, .candidates = 7};

	(void)state;
	assert_step(repair_decide(&facts), REPAIR_NONE, NULL);
}

static void a_lost_node_stays_until_the_new_copy_has_all_that_it_had(void **state)
{
	(void)state;
	assert_step(DECIDE({"n2", 99, 5}, {"n3", 0, 0}), REPAIR_NONE, "n2");
	assert_step(DECIDE({"n2", 99, 5}, {"n3", 0, 4}), REPAIR_NONE, "n2");
	assert_step(DECIDE({"n2", 99, 5}, {"n3", 1, 5}), REPAIR_NONE, "n2");
	assert_step(DECIDE({"n2", 99, 5}, {"n3", 0, 5}), REPAIR_REMOVE, "n2");
	assert_step(DECIDE({"n2", 99, 0}, {"n3", 0, 0}), REPAIR_NONE, "n2");
	assert_step(DECIDE({"n2", 99, 0}, {"n3", 0, 1}), REPAIR_REMOVE, "n2");
}

static void a_node_that_answers_again_is_never_removed(void **state)
{
	(void)state;
	assert_step(DECIDE({"n2", 0, 5}, {"n3", 0, 0}), REPAIR_NONE, NULL);
	assert_step(DECIDE({"n2", 0, 5}, {"n3", 0, 9}), REPAIR_NONE, NULL);
	assert_step(DECIDE({"n2", AFTER, 5}, {"n3", 0, 9}), REPAIR_NONE, NULL);
}

static void each_silence_adds_a_single_copy(void **state)
{
	(void)state;
	/* The node that was added is silent too, but first not for long enough. */
	assert_step(DECIDE({"n2", 99, 5}, {"n3", AFTER, 0}), REPAIR_NONE, "n2");
	assert_step(DECIDE({"n2", 99, 5}, {"n3", AFTER + 1, 0}), REPAIR_ADD, "n2");
	assert_step(DECIDE({"n2", 99, 5}, {"n3", 70, 0}, {"n4", 0, 0}), REPAIR_NONE, "n2");
	assert_step(DECIDE({"n2", 99, 5}, {"n3", 70, 0}, {"n4", 0, 6}), REPAIR_REMOVE, "n2");
	assert_step(DECIDE({"n3", 70, 0}, {"n4", 0, 6}), REPAIR_REMOVE, "n3");
}

static void a_host_that_may_be_cut_off_does_nothing(void **state)
{
	static const struct {
		size_t agents, silent;
		bool acts;
	} rows[] = {{3, 1, true},  {3, 2, false}, {4, 1, true},  {4, 2, false},
		    {2, 1, false}, {9, 3, true},  {9, 4, false}, {9, 9, false}};
	const struct repair_member adds[] = {{"n2", 99, 5}};
	const struct repair_member removes[] = {{"n2", 99, 5}, {"n3", 0, 6}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct repair_facts facts = {.after = AFTER,
					     .wanted = 2,
					     .members = adds,
					     .n = 1,
					     .agents = rows[i].agents,
					     .silent = rows[i].silent,
					     .candidates = 1};
		assert_int_equal(repair_decide(&facts).step == REPAIR_ADD, rows[i].acts);
		facts.members = removes;
		facts.n = 2;
		const struct repair repair = repair_decide(&facts);
		assert_int_equal(repair.step == REPAIR_REMOVE, rows[i].acts);
		assert_int_equal(repair.why != NULL, !rows[i].acts);
	}
}

static void a_hindered_volume_is_left_alone(void **state)
{
	const struct repair_member lost = {"n2", 99, 5};
	struct repair_facts facts = {.hindered = "it is paused",
				     .after = AFTER,
				     .wanted = 2,
				     .members = &lost,
				     .n = 1,
				     .agents = 3,
				     .silent = 1,
				     .candidates = 1};

	(void)state;
	assert_int_equal(repair_decide(&facts).step, REPAIR_NONE);
	assert_string_equal(repair_decide(&facts).why, "it is paused");
	facts.hindered = NULL;
	facts.candidates = 0;
	assert_int_equal(repair_decide(&facts).step, REPAIR_NONE);
	assert_non_null(strstr(repair_decide(&facts).why, "no other node"));
}

static void an_extra_copy_needs_no_replacement(void **state)
{
	(void)state;
	/*
	 * After a move the copy of n3 was extra, to be dropped; but n2 is lost, so n3 replaces n2.
	 */
	assert_step(DECIDE({"n3", 0, 5}, {"n2", 99, 5}), REPAIR_REMOVE, "n2");
}

/* A lost node is given up only if another node answers and has all data of the lost one. */
static void no_step_loses_data(void **state)
{
	(void)state;
	for (unsigned word = 0; word < 9 * 9 * 9; word++) {
		struct repair_member rows[3];
		unsigned rest = word;
		for (size_t i = 0; i < COUNT(rows); i++, rest /= 9)
			rows[i] = (struct repair_member){(const char *[]){"n2", "n3", "n4"}[i],
							 (int64_t[]){0, 1, 99}[rest % 3],
							 rest % 9 / 3};
		const struct repair repair = decide(rows, COUNT(rows));
		const struct repair_member *lost = rows;
		bool kept = false;
		if (repair.step != REPAIR_REMOVE)
			continue;
		for (size_t i = 0; i < COUNT(rows); i++)
			if (strcmp(rows[i].node, repair.lost) == 0)
				lost = &rows[i];
		assert_string_equal(lost->node, repair.lost);
		assert_true(lost->silent > AFTER);
		for (size_t i = 0; i < COUNT(rows); i++)
			kept |= rows[i].synced && !rows[i].silent && rows[i].synced >= lost->synced;
		assert_true(kept);
	}
}

static void a_silence_lasts_until_the_next_answer(void **state)
{
	struct silences silences = {.n = 0};

	(void)state;
	assert_int_equal(silences_of(&silences, "n2", 5000), 0);
	silences_begin(&silences, "n2", 5000);
	assert_int_equal(silences_of(&silences, "n2", 5000), 1);
	silences_begin(&silences, "n2", 65000);
	silences_begin(&silences, "n3", 65000);
	assert_int_equal(silences_of(&silences, "n2", 66000), 61);
	assert_int_equal(silences_of(&silences, "n3", 66000), 1);
	silences_end(&silences, "n2");
	silences_end(&silences, "n9");
	assert_int_equal(silences_of(&silences, "n2", 66000), 0);
	silences_begin(&silences, "n2", 66000);
	assert_int_equal(silences_of(&silences, "n2", 68000), 2);
	assert_int_equal(silences_of(&silences, "n3", 68000), 3);
	silences_clear(&silences);
	assert_int_equal(silences_of(&silences, "n3", 68000), 0);
}

/* The choice of the node that gets the new copy */

static GetHostResponse *host(const char *id, int64_t available, const char *rack)
{
	GetHostResponse *made = new_get_host_response(&arena);
	static const char *const keys[] = {PLUGIN_TOPOLOGY_KEY, "rack"};

	made->node_id = arena_strdup(&arena, id);
	made->dataset = arena_strdup(&arena, "t/p");
	made->available = available;
	made->topology = arena_alloc(&arena, COUNT(keys) * sizeof(*made->topology));
	for (size_t i = 0; i < COUNT(keys); i++) {
		Segment *segment = new_segment(&arena);
		segment->key = arena_strdup(&arena, keys[i]);
		segment->value = arena_strdup(&arena, i ? rack : id);
		made->topology[made->n_topology++] = segment;
	}
	return made;
}

static void another_rack_comes_before_more_space(void **state)
{
	struct topology_segment segments[] = {{PLUGIN_TOPOLOGY_KEY, "n1"}, {"rack", "a"}};
	const struct node node = {.id = "n1", .topology = segments, .n_topology = 2};
	const struct peers_host hosts[] = {{"e1", host("n1", 900, "a")},
					   {"e2", host("n2", 900, "b")},
					   {"e3", NULL},
					   {"e4", host("n4", 800, "a")},
					   {"e5", host("n5", 200, "b")},
					   {"e6", host("n6", 300, "b")},
					   {"e7", host("n7", 100, "b")},
					   {"e8", host("n8", 900, "b")},
					   {"e9", host("n9", 900, "b")},
					   {"e0", host("n0", 900, "b")}};
	const struct dataset volume = {.used = 100};
	struct members members;
	size_t n;

	(void)state;
	assert_true(members_parse(&arena, "00112233aabbccdd:60:n1,n2:n0", &members));
	((GetHostResponse *)hosts[7].says)->no_copies = arena_strdup(&arena, "it has zfs-fuse");
	((GetHostResponse *)hosts[8].says)->problem = arena_strdup(&arena, "it is suspended");
	const char **ids =
		candidates_choose(&arena, &node, hosts, COUNT(hosts), &volume, &members, &n);
	assert_int_equal(n, 3);
	assert_string_equal(ids[0], "n6");
	assert_string_equal(ids[1], "n5");
	assert_string_equal(ids[2], "n4");
	hosts[5].says->dataset[0] = '\0';
	candidates_choose(&arena, &node, hosts, COUNT(hosts), &volume, &members, &n);
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_is_replaced_after_its_time_only),
		cmocka_unit_test(without_a_time_nothing_is_replaced),
		cmocka_unit_test(a_lost_node_stays_until_the_new_copy_has_all_that_it_had),
		cmocka_unit_test(a_node_that_answers_again_is_never_removed),
		cmocka_unit_test(each_silence_adds_a_single_copy),
		cmocka_unit_test(a_host_that_may_be_cut_off_does_nothing),
		cmocka_unit_test(a_hindered_volume_is_left_alone),
		cmocka_unit_test(an_extra_copy_needs_no_replacement),
		cmocka_unit_test(no_step_loses_data),
		cmocka_unit_test(a_silence_lasts_until_the_next_answer),
		cmocka_unit_test(another_rack_comes_before_more_space),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
