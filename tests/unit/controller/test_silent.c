/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of creations while an agent is silent: they succeed if the agent cannot have the name,
 * which follows from what this agent and the others have reported.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include "common/volume/claim.h"
#include "controller/roll_hosts.h"
#include "controller/rollcall.h"
#include "controller/roster_absent.h"

#define BARRIER 1000

static CreateVolumeResponse created;
static VolumeContentSource *source; /* source of the volumes to create; NULL: none */

/* Create a volume. Host b has the most space. */
static int create(const char *name, struct error *err)
{
	CreateVolumeRequest *request = new_create_volume_request(&call.arena);

	request->name = arena_strdup(&call.arena, name);
	request->volume_content_source = source;
	request->n_volume_capabilities = 1;
	request->volume_capabilities = arena_alloc(&call.arena, sizeof(VolumeCapability *));
	VolumeCapability *capability = request->volume_capabilities[0] =
		new_volume_capability(&call.arena);
	capability->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT;
	capability->mount = new_volume_capability_mount_volume(&call.arena);
	capability->access_mode = new_volume_capability_access_mode(&call.arena);
	capability->access_mode->mode = VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER;
	return create_volume(&call, request, &created, err);
}

static int snapshot(const char *volume, const char *name, struct error *err)
{
	CreateSnapshotRequest *request = new_create_snapshot_request(&call.arena);
	CreateSnapshotResponse response;

	request->source_volume_id = arena_strdup(&call.arena, volume);
	request->name = arena_strdup(&call.arena, name);
	return create_snapshot(&call, request, &response, err);
}

static void call_roll(void)
{
	rollcall(agents_roster(&call), 0);
	roll_hosts_read(agents_roster(&call));
}

/* After a roll call in which c reported the volume "had", c is silent. */
static int setup(void **state)
{
	assert_int_equal(scripted_setup(state), 0);
	source = NULL;
	for (size_t i = 0; i < N_AGENTS; i++) {
		scripted[i].pool_guid = i + 1;
		scripted[i].names = 10 * (i + 1);
		scripted[i].barrier = BARRIER;
		scripted[i].forgot = BARRIER;
	}
	add_dataset(&scripted[2], "had", 1, "");
	scripted[2].may_have = name_hash(NAME_VOLUME, "may");
	call_roll();
	scripted[2].silent = ERR_UNAVAILABLE;
	return 0;
}

static void assert_refused(const char *name, const char *word)
{
	struct error err;
	int result = create(name, &err);

	assert_failed(result, ERR_UNAVAILABLE, word);
	for (size_t i = 0; i < N_AGENTS; i++)
		assert_int_equal(scripted[i].created, 0);
}

static void assert_created(const char *name)
{
	struct error err;
	int failed = create(name, &err);

	if (failed)
		print_error("%s\n", err.text);
	assert_int_equal(failed, 0);
	assert_int_equal(scripted[1].created, 1);
	assert_int_equal(scripted[0].target, name_hash_node("b"));
}

static void a_name_that_the_host_did_not_have_is_created(void **state)
{
	(void)state;
	assert_created("new");
	struct error err;
	assert_int_equal(snapshot("new", "s", &err), 0);
}

static void clones_and_groups_are_created(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "source", 1, "");
	CreateVolumeGroupSnapshotRequest *group =
		new_create_volume_group_snapshot_request(&call.arena);
	CreateVolumeGroupSnapshotResponse taken;
	char *ids[] = {arena_strdup(&call.arena, "source")};
	group->name = arena_strdup(&call.arena, "g");
	group->source_volume_ids = ids;
	group->n_source_volume_ids = 1;
	assert_int_equal(create_volume_group_snapshot(&call, group, &taken, &err), 0);
	source = new_volume_content_source(&call.arena);
	source->type_case = VOLUME_CONTENT_SOURCE_TYPE_VOLUME;
	source->volume = new_volume_content_source_volume_source(&call.arena);
	source->volume->volume_id = ids[0];
	assert_created("clone");
}

static void a_name_that_the_host_had_is_not_created(void **state)
{
	(void)state;
	assert_refused("had", "unix:///c");
	assert_refused("may", "unix:///c");
	call_roll();
	assert_refused("had", "it is node 'c', down since 20");
}

static void a_claim_of_another_controller_for_the_host_counts(void **state)
{
	(void)state;
	scripted[0].before = (PromiseTarget){.node = name_hash_node("c"), .claim = BARRIER + 1};
	assert_refused("new", "unix:///c");
	scripted[0].before.node = 0; /* a claim for any node */
	assert_refused("new", "unix:///c");
	scripted[0].before.node = name_hash_node("a"); /* a node that has answered */
	assert_created("new");
}

static void a_claim_before_the_last_answer_does_not_count(void **state)
{
	(void)state;
	scripted[0].before = (PromiseTarget){.node = name_hash_node("c"), .claim = BARRIER};
	assert_created("new");
}

static void most_agents_must_remember(void **state)
{
	(void)state;
	scripted[0].forgot = BARRIER + 1;
	assert_refused("new", "unix:///c");
	scripted[0].forgot = BARRIER;
	scripted[0].silent = ERR_UNAVAILABLE;
	assert_refused("new", "unix:///");
}

static void an_agent_that_never_answered_may_have_any_name(void **state)
{
	struct roster *roster = agents_roster(&call);

	(void)state;
	roster->named->list[2]->state.names.barrier = 0;
	assert_refused("new", "unix:///c");
}

/* Start a controller while c is silent. The previous controller has sent the names of c to a and
 * b. */
static void restart(void)
{
	roll_hosts_send(agents_roster(&call));
	scripted_restart();
	call_roll();
	roster_open(agents_roster(&call));
}

static void a_controller_that_starts_meanwhile_loads_the_names(void **state)
{
	(void)state;
	restart();
	assert_refused("had",
		       "it is node 'c', down since 1970-01-01T00:00:00Z or later; try again");
	assert_refused("may", "unix:///c");
	assert_created("new");
}

static void an_agent_without_kept_names_may_have_any_name(void **state)
{
	(void)state;
	restart();
	scripted_restart();
	scripted[0].n_kept = scripted[1].n_kept = 0;
	call_roll();
	roster_open(agents_roster(&call));
	assert_refused("new", "unix:///c");
}

static void a_keeper_that_comes_up_is_asked_before_names_count(void **state)
{
	(void)state;
	scripted[0].silent = ERR_UNAVAILABLE;
	restart();
	scripted[0].silent = ERR_OK;
	rollcall(agents_roster(&call), 0);
	assert_refused("new", "unix:///");
	roll_hosts_read(agents_roster(&call));
	assert_created("new");
}

static void two_hosts_at_one_endpoint_are_not_distinguished(void **state)
{
	struct host_row row;

	(void)state;
	roll_hosts_send(agents_roster(&call));
	row = *host_list_find(&scripted[0].hosts, "c");
	row.node_id = (char *)"d";
	host_list_set(&scripted[0].hosts, &row);
	restart();
	assert_refused("new", "unix:///c");
}

static void an_agent_with_names_that_cannot_be_read_may_have_any_name(void **state)
{
	(void)state;
	scripted[2].silent = ERR_OK;
	scripted[2].barrier = 0;
	call_roll();
	scripted[2].silent = ERR_UNAVAILABLE;
	assert_refused("new", "unix:///c");
}

static void an_agent_that_is_refused_is_not_ignored(void **state)
{
	struct error err;

	(void)state;
	scripted[2].silent = ERR_OK;
	scripted[2].node = "d";
	call_roll();
	int result = create("new", &err);
	assert_failed(result, ERR_FAILED_PRECONDITION, "unix:///c");
}

static void a_claim_for_a_host_off_the_list_counts(void **state)
{
	struct roster *roster = agents_roster(&call);
	const char *endpoints[] = {"unix:///a", "unix:///b"};
	struct error err;

	(void)state;
	scripted[0].before = (PromiseTarget){.node = name_hash_node("x"), .claim = 1};
	assert_refused("new", "not on the list");
	assert_int_equal(roster_name(roster, endpoints, COUNT(endpoints), &err), 0);
	roster_open(roster);
	call.state = NULL;
	call_roll();
	scripted[0].before = (PromiseTarget){.node = name_hash_node("c"), .claim = BARRIER + 1};
	assert_refused("new", "not on the list");
	scripted[0].before.claim = BARRIER;
	assert_created("new");
}

/* Returns the result of GetCapacity with this segment as the topology, and with this node. */
static int capacity(const char *key, const char *value, const char *node, struct error *err)
{
	GetCapacityRequest *request = new_get_capacity_request(&call.arena);
	GetCapacityResponse *response = new_get_capacity_response(&call.arena);

	if (key) {
		request->accessible_topology = new_topology(&call.arena);
		map_put(&call.arena, request->accessible_topology, segments, key, value);
	}
	if (node)
		map_put(&call.arena, request, parameters, "node", node);
	int failed = get_capacity(&call, request, response, err);
	if (!failed)
		assert_int_equal(response->available_capacity, scripted[0].available);
	return failed;
}

static void the_capacity_of_a_node_that_answered_needs_no_other_node(void **state)
{
	struct error err;

	(void)state;
	restart();
	assert_int_equal(capacity("zcsi.zfs/node", "a", NULL, &err), 0);
	assert_int_equal(capacity("ZCSI.zfs/node", "a", NULL, &err), 0);
	assert_int_equal(capacity(NULL, NULL, "a", &err), 0);
	assert_failed(capacity("zcsi.zfs/node", "c", NULL, &err), ERR_UNAVAILABLE, "unix:///c");
	assert_failed(capacity("rack", "1", NULL, &err), ERR_UNAVAILABLE, "unix:///c");
	assert_failed(capacity(NULL, NULL, NULL, &err), ERR_UNAVAILABLE, "unix:///c");
}

/* Put n agents on the list, from this one on. */
static void name_agents(size_t first, size_t n)
{
	const char *endpoints[N_AGENTS];
	struct error err;

	for (size_t i = 0; i < n; i++)
		endpoints[i] = scripted[first + i].endpoint;
	assert_int_equal(roster_name(agents_roster(&call), endpoints, n, &err), 0);
	call_roll();
}

static void name_and_open(size_t first, size_t n)
{
	name_agents(first, n);
	roster_open(agents_roster(&call));
	call.state = NULL;
}

/* Host c, which had the volume "had", leaves the list. */
static void leave(void)
{
	name_and_open(0, 2);
	scripted[2].silent = ERR_OK;
}

static void a_claim_after_a_host_was_forgotten_counts(void **state)
{
	struct roster *roster = agents_roster(&call);

	(void)state;
	leave();
	roster_forget(roster, 0);
	const uint64_t last = host_list_find(&roster->hosts, "c")->stamp + CLAIM_AHEAD_US;
	scripted[0].before = (PromiseTarget){.node = name_hash_node("c"),
					     .claim = (last + 1) << CLAIM_RANDOM_BITS};
	assert_refused("had", "not on the list");
	scripted[0].before.claim = last << CLAIM_RANDOM_BITS;
	assert_created("had");
}

static void name_only_c(void)
{
	name_agents(2, 1);
}

static void most_agents_that_were_asked_must_promise(void **state)
{
	(void)state;
	name_and_open(1, 2);
	meanwhile = name_only_c;
	assert_refused("new", "unix:///c");
}

static void come_back(void)
{
	name_agents(0, N_AGENTS);
}

static void come_back_and_open(void)
{
	come_back();
	roster_open(agents_roster(&call));
}

static void come_back_late(void)
{
	come_back();
	call.deadline = now_ms() + 50;
}

static int delete_had(struct error *err)
{
	DeleteVolumeRequest *request = new_delete_volume_request(&call.arena);
	DeleteVolumeResponse response;

	request->volume_id = arena_strdup(&call.arena, "had");
	return delete_volume(&call, request, &response, err);
}

static void a_host_that_returns_meanwhile_is_asked_too(void **state)
{
	struct error err;

	(void)state;
	leave();
	meanwhile = come_back_and_open;
	assert_int_equal(delete_had(&err), 0);
	assert_int_equal(scripted[2].destroyed, 1);
}

static void a_host_that_was_not_asked_yet_may_have_the_volume(void **state)
{
	struct error err;

	(void)state;
	leave();
	meanwhile = come_back_late;
	int result = delete_had(&err);
	assert_failed(result, ERR_UNAVAILABLE, "'unix:///c', which has just come onto the list");
}

static void a_volume_is_created_at_a_host_that_answers_late(void **state)
{
	struct error err;

	(void)state;
	scripted[2].silent = ERR_OK;
	silent_answers = N_AGENTS;
	assert_int_equal(create("new", &err), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, scripted_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_that_the_host_did_not_have_is_created),
		TEST(clones_and_groups_are_created),
		TEST(a_name_that_the_host_had_is_not_created),
		TEST(a_claim_of_another_controller_for_the_host_counts),
		TEST(a_claim_before_the_last_answer_does_not_count),
		TEST(most_agents_must_remember),
		TEST(an_agent_that_never_answered_may_have_any_name),
		TEST(a_controller_that_starts_meanwhile_loads_the_names),
		TEST(an_agent_without_kept_names_may_have_any_name),
		TEST(a_keeper_that_comes_up_is_asked_before_names_count),
		TEST(two_hosts_at_one_endpoint_are_not_distinguished),
		TEST(an_agent_with_names_that_cannot_be_read_may_have_any_name),
		TEST(an_agent_that_is_refused_is_not_ignored),
		TEST(a_claim_for_a_host_off_the_list_counts),
		TEST(the_capacity_of_a_node_that_answered_needs_no_other_node),
		TEST(a_claim_after_a_host_was_forgotten_counts),
		TEST(most_agents_that_were_asked_must_promise),
		TEST(a_host_that_returns_meanwhile_is_asked_too),
		TEST(a_host_that_was_not_asked_yet_may_have_the_volume),
		TEST(a_volume_is_created_at_a_host_that_answers_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
