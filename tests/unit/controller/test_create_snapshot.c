/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the snapshot RPCs with several agents: names are unique, repeated requests, and
 * deletion.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

static struct error err;

static int create(const char *name, const char *volume, Snapshot **ret)
{
	CreateSnapshotRequest *request = new_create_snapshot_request(&call.arena);
	CreateSnapshotResponse *response = new_create_snapshot_response(&call.arena);

	request->name = arena_strdup(&call.arena, name);
	request->source_volume_id = arena_strdup(&call.arena, volume);
	map_put(&call.arena, request, parameters, "csi.storage.k8s.io/volumesnapshot/name", "x");
	int result = create_snapshot(&call, request, response, &err);
	*ret = response->snapshot;
	return result;
}

static int delete (const char *id)
{
	DeleteSnapshotRequest *request = new_delete_snapshot_request(&call.arena);

	request->snapshot_id = arena_strdup(&call.arena, id);
	return delete_snapshot(&call, request, new_delete_snapshot_response(&call.arena), &err);
}

static int get(const char *id, Snapshot **ret)
{
	GetSnapshotRequest *request = new_get_snapshot_request(&call.arena);
	GetSnapshotResponse *response = new_get_snapshot_response(&call.arena);

	request->snapshot_id = arena_strdup(&call.arena, id);
	int result = get_snapshot(&call, request, response, &err);
	*ret = response->snapshot;
	return result;
}

static void a_repeated_request_returns_the_same_snapshot(void **state)
{
	Snapshot *snapshot, *again;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "");
	assert_int_equal(create("s", "v", &snapshot), 0);
	assert_string_equal(snapshot->snapshot_id, "v@s");
	assert_string_equal(snapshot->source_volume_id, "v");
	assert_int_equal(snapshot->size_bytes, 7);
	assert_true(snapshot->ready_to_use);
	assert_true(snapshot->creation_time->seconds > 0);
	assert_string_equal(snapshot->group_snapshot_id, "");
	assert_int_equal(create("s", "v", &again), 0);
	assert_int_equal(scripted[1].n_snapshots, 1);
	assert_int_equal(again->creation_time->seconds, snapshot->creation_time->seconds);
	assert_int_equal(get("v@s", &again), 0);
	assert_string_equal(again->snapshot_id, "v@s");
}

/* A snapshot name is unique among all volumes of all agents. */
static void names_are_unique(void **state)
{
	Snapshot *snapshot;

	(void)state;
	add_dataset(&scripted[0], "v", 7, "");
	add_dataset(&scripted[2], "w", 7, "");
	assert_int_equal(create("s", "v", &snapshot), 0);
	assert_failed(create("s", "w", &snapshot), ERR_ALREADY_EXISTS, "source_volume_id");
	assert_failed(create("s", "none", &snapshot), ERR_ALREADY_EXISTS, "source_volume_id");
	scripted[0].snapshots[0]->group = arena_strdup(&call.arena, "g");
	assert_failed(create("s", "v", &snapshot), ERR_ALREADY_EXISTS, "group snapshot 'g'");
	assert_int_equal(scripted[2].snapshotted, 0);
}

static void create_looks_again_after_it_lost_its_claim(void **state)
{
	uint64_t promised = UINT64_MAX / 4;
	Snapshot *snapshot;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "");
	scripted[1].n_aborts = 2;
	scripted[2].promised = promised;
	assert_int_equal(create("s", "v", &snapshot), 0);
	assert_int_equal(scripted[1].n_aborts, 0);
	assert_int_equal(scripted[1].n_snapshots, 1);
	for (size_t i = 0; i < N_AGENTS; i++)
		assert_true(scripted[i].promised > promised);
}

/* A volume that was deleted and created again under the same name is a different source. */
static void a_recreated_volume_is_another_source(void **state)
{
	Snapshot *snapshot;

	(void)state;
	add_dataset(&scripted[0], "v", 7, "");
	assert_int_equal(create("s", "v", &snapshot), 0);
	/* A repeated request succeeds even if the volume is deleted. */
	scripted[0].n_datasets = 0;
	assert_int_equal(create("s", "v", &snapshot), 0);
	assert_string_equal(snapshot->snapshot_id, "v@s");
	add_dataset(&scripted[0], "v", 7, "");
	assert_failed(create("s", "v", &snapshot), ERR_ALREADY_EXISTS, "earlier");
	scripted[0].n_datasets = 0;
	add_dataset(&scripted[1], "v", 7, "");
	assert_failed(create("s", "v", &snapshot), ERR_ALREADY_EXISTS, "earlier");
	assert_int_equal(scripted[1].snapshotted, 0);
}

static void wrong_requests_are_refused(void **state)
{
	CreateSnapshotRequest *request = new_create_snapshot_request(&call.arena);
	CreateSnapshotResponse *response = new_create_snapshot_response(&call.arena);
	char name[] = "s", volume[] = "v";
	Snapshot *snapshot;

	(void)state;
	assert_failed(create("", "v", &snapshot), ERR_INVALID_ARGUMENT, "name");
	assert_failed(create("a\x01", "v", &snapshot), ERR_INVALID_ARGUMENT, "name");
	assert_failed(create("s", "", &snapshot), ERR_INVALID_ARGUMENT, "source_volume_id");
	assert_failed(create("s", "v", &snapshot), ERR_NOT_FOUND, "volume 'v'");
	add_dataset(&scripted[0], "v", 7, "");
	request->name = name;
	request->source_volume_id = volume;
	map_put(&call.arena, request, parameters, "colour", "red");
	assert_failed(create_snapshot(&call, request, response, &err), ERR_INVALID_ARGUMENT,
		      "colour");
	scripted[2].silent = ERR_UNAVAILABLE;
	assert_failed(create("s", "v", &snapshot), ERR_UNAVAILABLE, "unix:///c");
	assert_int_equal(scripted[0].n_snapshots, 0);
}

static void get_needs_an_answer_of_every_host_with_a_pool(void **state)
{
	Snapshot *snapshot;

	(void)state;
	assert_failed(get("", &snapshot), ERR_INVALID_ARGUMENT, "snapshot_id");
	assert_failed(get("v@s", &snapshot), ERR_NOT_FOUND, "snapshot 'v@s'");
	scripted[0].lookup = ERR_FAILED_PRECONDITION;
	assert_failed(get("v@s", &snapshot), ERR_FAILED_PRECONDITION, "unix:///a");
	/* A host without a pool cannot have a snapshot, so its error does not matter. */
	scripted[0].pool = "";
	assert_failed(get("v@s", &snapshot), ERR_NOT_FOUND, "snapshot 'v@s'");
}

static void delete_asks_every_agent(void **state)
{
	(void)state;
	assert_failed(delete (""), ERR_INVALID_ARGUMENT, "snapshot_id");
	assert_int_equal(delete ("made up"), 0);
	scripted[1].silent = ERR_DEADLINE_EXCEEDED;
	assert_failed(delete ("v@s"), ERR_UNAVAILABLE, "unix:///b");
	add_snapshot(&scripted[0], add_dataset(&scripted[0], "v", 7, ""), "s");
	assert_int_equal(delete ("v@s"), 0);
	assert_int_equal(scripted[0].snapshots_destroyed, 1);
}

/* A snapshot of a group is deleted like any other, because ZFS has no groups. */
static void a_member_of_a_group_is_deleted(void **state)
{
	(void)state;
	add_snapshot(&scripted[0], add_dataset(&scripted[0], "v", 7, ""), "s")->group =
		arena_strdup(&call.arena, "g");
	assert_int_equal(delete ("v@s"), 0);
	assert_int_equal(scripted[0].n_snapshots, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(a_repeated_request_returns_the_same_snapshot),
		SCRIPTED_TEST(names_are_unique),
		SCRIPTED_TEST(create_looks_again_after_it_lost_its_claim),
		SCRIPTED_TEST(a_recreated_volume_is_another_source),
		SCRIPTED_TEST(wrong_requests_are_refused),
		SCRIPTED_TEST(get_needs_an_answer_of_every_host_with_a_pool),
		SCRIPTED_TEST(delete_asks_every_agent),
		SCRIPTED_TEST(a_member_of_a_group_is_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
