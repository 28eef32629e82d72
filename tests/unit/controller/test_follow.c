/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of ControllerPublishVolume at a node that has a copy of the volume: the volume moves to the
 * node. Nomad repeats a call that failed with FAILED_PRECONDITION, and with no other code: it looks
 * for this word in the error (nomad/csi_endpoint.go, controllerPublishVolume).
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include "controller/rollcall.h"
#include "controller/roster.h"

#define GIB     ((double)(1 << 30))
#define LIMIT   2000
#define MARGIN  500
#define HURRIED 250 /* a deadline in ms, for tests that do not need LIMIT */

static struct error err;
static struct map context;
static Dataset *volume;

/* The volume "v" is on a, and b has a copy. */
static int setup(void **state)
{
	assert_int_equal(scripted_setup(state), 0);
	volume = add_dataset(&scripted[0], "v", 7, "");
	set_copies(volume, "b");
	return 0;
}

static int publish_at(const char *node)
{
	ControllerPublishVolumeRequest *request =
		new_controller_publish_volume_request(&call.arena);
	ControllerPublishVolumeResponse *response =
		new_controller_publish_volume_response(&call.arena);

	request->volume_id = arena_strdup(&call.arena, "v");
	request->node_id = arena_strdup(&call.arena, node);
	request->volume_capability = new_volume_capability(&call.arena);
	request->volume_capability->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT;
	request->volume_capability->mount = new_volume_capability_mount_volume(&call.arena);
	request->volume_capability->access_mode = new_volume_capability_access_mode(&call.arena);
	request->volume_capability->access_mode->mode =
		VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER;
	int result = controller_publish_volume(&call, request, response, &err);
	context = map_of(&call.arena, response, publish_context);
	return result;
}

/* Publish the volume as publish_at() does, with a deadline of HURRIED ms. */
static int publish_soon(const char *node)
{
	call.deadline = now_ms() + HURRIED;
	int result = publish_at(node);
	call.deadline = NO_DEADLINE;
	return result;
}

static void assert_published(unsigned a, unsigned b)
{
	assert_int_equal(scripted[0].published, a);
	assert_int_equal(scripted[1].published, b);
}

static void a_volume_that_moves_in_time_is_published_there(void **state)
{
	(void)state;
	scripted[0].looks = 3;
	assert_int_equal(publish_at("b"), 0);
	assert_int_equal(scripted[0].moves_begun, 1);
	assert_published(0, 1);
	assert_string_equal(map_get(&context, "attach"), "local");
	/* The volume can move back from b to a. */
	scripted[1].looks = 1;
	assert_int_equal(publish_at("a"), 0);
	assert_int_equal(scripted[1].moves_begun, 1);
	assert_published(1, 1);
}

static void a_volume_is_published_at_its_own_node_without_a_move(void **state)
{
	(void)state;
	assert_int_equal(publish_at("a"), 0);
	assert_published(1, 0);
	assert_int_equal(scripted[0].moves_begun + scripted[0].moves_asked, 0);
}

static void a_longer_move_is_reported_with_its_progress(void **state)
{
	(void)state;
	scripted[0].sent = (int64_t)(1.2 * GIB);
	scripted[0].total = (int64_t)(40 * GIB);
	scripted[0].since = 7500;
	int64_t begun = now_ms();
	assert_int_equal(publish_at("b"), -1);
	assert_in_range(now_ms() - begun, LIMIT - MARGIN, LIMIT + MARGIN);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_string_equal(err.text,
			    "volume 'v' is moving to node 'b': 1.2 of 40.0 GiB, about 4 min");
	assert_published(0, 0);
}

static void known_parts_of_the_progress_are_reported(void **state)
{
	(void)state;
	assert_failed(publish_soon("b"), ERR_FAILED_PRECONDITION, "is moving to node 'b'");
	assert_string_equal(err.text, "volume 'v' is moving to node 'b'");
	scripted[0].total = 5000;
	scripted[0].since = 1;
	assert_int_equal(publish_soon("b"), -1);
	assert_string_equal(err.text, "volume 'v' is moving to node 'b': 0.0 of 4.9 KiB");
	scripted[0].sent = 6000;
	assert_int_equal(publish_soon("b"), -1);
	assert_string_equal(err.text, "volume 'v' is moving to node 'b': 5.9 of 4.9 KiB");
	scripted[0].sent = 4999;
	assert_int_equal(publish_soon("b"), -1);
	assert_string_equal(err.text,
			    "volume 'v' is moving to node 'b': 4.9 of 4.9 KiB, about 1 min");
}

static void a_repeated_call_finds_the_move_that_runs(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		assert_failed(publish_soon("b"), ERR_FAILED_PRECONDITION, "is moving to node 'b'");
	assert_int_equal(scripted[0].moves_begun, 1);
	scripted[0].looks = 1;
	assert_int_equal(publish_at("b"), 0);
	assert_int_equal(scripted[0].moves_begun, 1);
	assert_published(0, 1);
}

/* At the end of a move no node has the volume for a moment. */
static void a_repeated_call_finds_the_move_that_ends(void **state)
{
	(void)state;
	assert_int_equal(publish_soon("b"), -1);
	scripted[0].closes = true;
	assert_failed(publish_soon("b"), ERR_FAILED_PRECONDITION,
		      "volume 'v' is moving to node 'b'");
	/* The agent of b, which is asked first, is silent. */
	scripted[1].silent = ERR_UNAVAILABLE;
	assert_failed(publish_soon("b"), ERR_FAILED_PRECONDITION,
		      "volume 'v' is moving to node 'b'");
	scripted[1].silent = ERR_OK;
	assert_failed(publish_soon("a"), ERR_FAILED_PRECONDITION,
		      "volume 'v' is moving to node 'b'");
	assert_failed(publish_soon("c"), ERR_FAILED_PRECONDITION,
		      "volume 'v' is moving to node 'b'");
	scripted[0].looks = scripted[0].moves_asked + 3;
	assert_int_equal(publish_at("b"), 0);
	assert_int_equal(scripted[0].moves_begun, 1);
	assert_published(0, 1);
}

/* The lookup finds that the volume is moving, and the next GetDatasetMove that it has moved. */
static void a_move_that_has_just_ended_is_no_error(void **state)
{
	(void)state;
	assert_int_equal(publish_soon("b"), -1);
	scripted[0].closes = true;
	scripted[0].looks = 1;
	assert_int_equal(publish_at("b"), 0);
	assert_published(0, 1);
}

static void a_move_that_fails_is_begun_again(void **state)
{
	(void)state;
	scripted[0].move_fails = "the pool is full";
	assert_int_equal(publish_at("b"), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_string_equal(err.text, "volume 'v' did not move to node 'b': the pool is full");
	scripted[0].moves_to = NULL;
	scripted[0].move_fails = NULL;
	scripted[0].failed_before = "the pool is full";
	assert_failed(publish_soon("b"), ERR_FAILED_PRECONDITION,
		      "is moving to node 'b'; the move before failed: the pool is full");
	assert_int_equal(scripted[0].moves_begun, 2);
	assert_published(0, 0);
}

static void a_volume_in_use_waits(void **state)
{
	(void)state;
	scripted[0].immovable = ERR_FAILED_PRECONDITION;
	assert_failed(publish_at("b"), ERR_FAILED_PRECONDITION, "attached to node 'a'");
	assert_published(0, 0);
}

static void temporary_refusals_make_the_publish_wait(void **state)
{
	static const enum error_code codes[] = {ERR_UNAVAILABLE, ERR_RESOURCE_EXHAUSTED,
						ERR_ABORTED};

	(void)state;
	for (size_t i = 0; i < COUNT(codes); i++) {
		scripted[0].immovable = codes[i];
		assert_failed(publish_at("b"), ERR_FAILED_PRECONDITION, "unix:///a");
	}
	scripted[0].immovable = ERR_PERMISSION_DENIED;
	assert_failed(publish_at("b"), ERR_PERMISSION_DENIED, "attached");
}

static void a_node_without_a_copy_is_refused(void **state)
{
	(void)state;
	assert_failed(publish_at("c"), ERR_INVALID_ARGUMENT, "on node 'a'");
	volume->follows = false; /* follow=no, or a block device */
	assert_failed(publish_at("b"), ERR_INVALID_ARGUMENT, "on node 'a'");
	volume->follows = true;
	volume->parameters = arena_strdup(&call.arena, "attach=nfs\n");
	assert_failed(publish_at("b"), ERR_UNAVAILABLE, "node 'b' has no address");
	assert_int_equal(scripted[0].moves_begun, 0);
}

static void a_volume_that_follows_anywhere_needs_no_copy_there(void **state)
{
	(void)state;
	volume->follows_anywhere = true;
	assert_int_equal(publish_at("a"), 0);
	assert_int_equal(scripted[0].moves_begun, 0);
	scripted[0].looks = 1;
	assert_int_equal(publish_at("c"), 0);
	assert_int_equal(scripted[0].moves_begun, 1);
	assert_int_equal(scripted[2].published, 1);
}

static void a_node_that_cannot_have_copies_is_refused(void **state)
{
	(void)state;
	volume->follows_anywhere = true;
	assert_failed(publish_at("z"), ERR_NOT_FOUND, "z");
	scripted[2].no_copies = "it has zfs-fuse; use OpenZFS";
	assert_failed(publish_at("c"), ERR_INVALID_ARGUMENT, "node 'c': it has zfs-fuse");
	assert_int_equal(scripted[0].moves_begun, 0);
}

/* The target node is silent, because its zcsi-node may be restarting. */
static void a_node_that_does_not_answer_is_waited_for(void **state)
{
	(void)state;
	volume->follows_anywhere = true;
	rollcall(agents_roster(&call), 0);
	scripted[2].silent = ERR_UNAVAILABLE;
	assert_failed(publish_at("c"), ERR_FAILED_PRECONDITION, "does not move to node 'c' yet");
	assert_int_equal(scripted[0].moves_begun, 0);
}

/* GetHost is called at the agent of the target node only. */
static void another_agent_that_does_not_answer_delays_nothing(void **state)
{
	(void)state;
	volume->follows_anywhere = true;
	rollcall(agents_roster(&call), 0);
	scripted[1].hides = true;
	scripted[0].looks = 1;
	int64_t begun = now_ms();
	assert_int_equal(publish_at("c"), 0);
	assert_in_range(now_ms() - begun, 0, LIMIT - MARGIN);
	assert_int_equal(scripted[2].published, 1);
}

static void name_agents(size_t n)
{
	const char *endpoints[N_AGENTS];

	for (size_t i = 0; i < n; i++)
		endpoints[i] = scripted[i].endpoint;
	assert_int_equal(roster_name(agents_roster(&call), endpoints, n, &err), 0);
	call.state = NULL;
}

/* Nomad withdraws the service of a zcsi-node that is restarted. */
static void a_node_that_is_off_the_list_is_waited_for(void **state)
{
	(void)state;
	volume->follows_anywhere = true;
	for (size_t i = 0; i < N_AGENTS; i++)
		scripted[i].pool_guid = i + 1;
	rollcall(agents_roster(&call), 0);
	name_agents(N_AGENTS - 1);
	roster_open(agents_roster(&call));
	assert_failed(publish_at("c"), ERR_FAILED_PRECONDITION, "does not move to node 'c' yet");
	/* The agent of c is on the list again, but no roll call has asked it yet. */
	name_agents(N_AGENTS);
	int64_t begun = now_ms();
	assert_failed(publish_at("c"), ERR_FAILED_PRECONDITION, "does not move to node 'c' yet");
	assert_in_range(now_ms() - begun, LIMIT - MARGIN, LIMIT + MARGIN);
	assert_int_equal(scripted[0].moves_begun, 0);
}

static void a_wrong_request_begins_no_move(void **state)
{
	(void)state;
	volume->format = arena_strdup(&call.arena, "block");
	assert_failed(publish_at("b"), ERR_INVALID_ARGUMENT, "block device");
	assert_int_equal(scripted[0].moves_begun, 0);
}

static void an_owner_agent_that_does_not_answer_delays_nothing(void **state)
{
	(void)state;
	scripted[0].hangs = true;
	int64_t begun = now_ms();
	assert_failed(publish_at("b"), ERR_FAILED_PRECONDITION, "unix:///a");
	assert_in_range(now_ms() - begun, LIMIT - MARGIN, LIMIT + MARGIN);
	/* The limit also holds if the agent stops answering after the move has begun. */
	scripted[0].moves_to = "b";
	scripted[0].closes = true;
	begun = now_ms();
	assert_int_equal(publish_at("b"), -1);
	assert_in_range(now_ms() - begun, 0, LIMIT + MARGIN);
}

static void a_copy_of_a_node_that_does_not_answer_is_waited_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_AGENTS; i++)
		scripted[i].pool_guid = i + 1;
	rollcall(agents_roster(&call), 0);
	scripted[0].silent = ERR_UNAVAILABLE;
	assert_failed(publish_soon("b"), ERR_UNAVAILABLE, "unix:///a");
	scripted[1].copy_time = 1800000000;
	assert_failed(publish_soon("b"), ERR_FAILED_PRECONDITION,
		      "start zcsi-node on 'a'; if that host is lost, 'zcsi failover v --lost");
	assert_non_null(strstr(err.text, "the data of 2027-01-15T08:00:00Z"));
	assert_non_null(strstr(err.text, "unix:///a"));
	/* A copy on node b does not help a call for node c. */
	assert_failed(publish_soon("c"), ERR_UNAVAILABLE, "unix:///a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, scripted_teardown)
		TEST(a_volume_that_moves_in_time_is_published_there),
		TEST(a_volume_is_published_at_its_own_node_without_a_move),
		TEST(a_longer_move_is_reported_with_its_progress),
		TEST(known_parts_of_the_progress_are_reported),
		TEST(a_repeated_call_finds_the_move_that_runs),
		TEST(a_repeated_call_finds_the_move_that_ends),
		TEST(a_move_that_has_just_ended_is_no_error),
		TEST(a_move_that_fails_is_begun_again),
		TEST(a_volume_in_use_waits),
		TEST(temporary_refusals_make_the_publish_wait),
		TEST(a_node_without_a_copy_is_refused),
		TEST(a_volume_that_follows_anywhere_needs_no_copy_there),
		TEST(a_node_that_cannot_have_copies_is_refused),
		TEST(a_node_that_does_not_answer_is_waited_for),
		TEST(another_agent_that_does_not_answer_delays_nothing),
		TEST(a_node_that_is_off_the_list_is_waited_for),
		TEST(a_wrong_request_begins_no_move),
		TEST(an_owner_agent_that_does_not_answer_delays_nothing),
		TEST(a_copy_of_a_node_that_does_not_answer_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
