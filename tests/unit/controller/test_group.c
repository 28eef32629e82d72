/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the group snapshot RPCs with several agents: which volumes can be in one group, and
 * which requests match an existing group.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

static struct error err;

/* Copy ids, a list that ends with NULL, into the arena of the call. *ret is the copy. Returns the
 * number of ids. */
static size_t copy_ids(const char *const *ids, char ***ret)
{
	size_t n = 0;

	*ret = arena_alloc(&call.arena, 16 * sizeof(char *));
	for (; ids[n]; n++)
		(*ret)[n] = arena_strdup(&call.arena, ids[n]);
	return n;
}

static int create(const char *name, const char *const *volumes, VolumeGroupSnapshot **ret)
{
	CreateVolumeGroupSnapshotRequest *request =
		new_create_volume_group_snapshot_request(&call.arena);
	CreateVolumeGroupSnapshotResponse *response =
		new_create_volume_group_snapshot_response(&call.arena);

	request->name = arena_strdup(&call.arena, name);
	request->n_source_volume_ids = copy_ids(volumes, &request->source_volume_ids);
	int result = create_volume_group_snapshot(&call, request, response, &err);
	*ret = response->group_snapshot;
	return result;
}

static int get(const char *group, const char *const *snapshots, VolumeGroupSnapshot **ret)
{
	GetVolumeGroupSnapshotRequest *request = new_get_volume_group_snapshot_request(&call.arena);
	GetVolumeGroupSnapshotResponse *response =
		new_get_volume_group_snapshot_response(&call.arena);

	request->group_snapshot_id = arena_strdup(&call.arena, group);
	request->n_snapshot_ids = copy_ids(snapshots, &request->snapshot_ids);
	int result = get_volume_group_snapshot(&call, request, response, &err);
	*ret = response->group_snapshot;
	return result;
}

static int delete (const char *group, const char *const *snapshots)
{
	DeleteVolumeGroupSnapshotRequest *request =
		new_delete_volume_group_snapshot_request(&call.arena);

	request->group_snapshot_id = arena_strdup(&call.arena, group);
	request->n_snapshot_ids = copy_ids(snapshots, &request->snapshot_ids);
	return delete_volume_group_snapshot(
		&call, request, new_delete_volume_group_snapshot_response(&call.arena), &err);
}

#define IDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_IDS   ((const char *const[]){NULL})

static void add_volumes(void)
{
	add_dataset(&scripted[0], "v", 7, "");
	add_dataset(&scripted[0], "w", 7, "");
	add_dataset(&scripted[1], "x", 7, "");
}

static void a_repeated_request_returns_the_same_group(void **state)
{
	VolumeGroupSnapshot *group;

	(void)state;
	add_volumes();
	assert_int_equal(create("g", IDS("v", "w"), &group), 0);
	assert_string_equal(group->group_snapshot_id, "g");
	assert_true(group->ready_to_use);
	assert_int_equal(group->n_snapshots, 2);
	int64_t last = group->snapshots[1]->creation_time->seconds;
	assert_int_equal(group->creation_time->seconds, last);
	assert_int_equal(create("g", IDS("w", "v"), &group), 0);
	assert_int_equal(scripted[0].grouped, 1);
	assert_int_equal(group->n_snapshots, 2);
	assert_int_equal(group->creation_time->seconds, last);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(group->snapshots[i]->group_snapshot_id, "g");
}

static void other_volumes_are_another_group(void **state)
{
	VolumeGroupSnapshot *group;

	(void)state;
	add_volumes();
	assert_int_equal(create("g", IDS("v", "w"), &group), 0);
	assert_failed(create("g", IDS("v"), &group), ERR_ALREADY_EXISTS, "source_volume_ids");
	assert_failed(create("g", IDS("v", "x"), &group), ERR_ALREADY_EXISTS, "source_volume_ids");
	assert_failed(create("g", IDS("v", "w", "x"), &group), ERR_ALREADY_EXISTS,
		      "source_volume_ids");
	/* A group still matches if its volumes are deleted, but not if they were created again. */
	scripted[0].n_datasets = 0;
	assert_int_equal(create("g", IDS("v", "w"), &group), 0);
	add_dataset(&scripted[0], "v", 7, "");
	assert_failed(create("g", IDS("v", "w"), &group), ERR_ALREADY_EXISTS, "source_volume_ids");
	assert_int_equal(scripted[0].grouped, 1);
}

static void create_looks_again_after_it_lost_its_claim(void **state)
{
	uint64_t promised = UINT64_MAX / 4;
	VolumeGroupSnapshot *group;

	(void)state;
	add_volumes();
	scripted[0].n_aborts = 2;
	scripted[2].promised = promised;
	assert_int_equal(create("g", IDS("v", "w"), &group), 0);
	assert_int_equal(scripted[0].n_aborts, 0);
	assert_int_equal(scripted[0].grouped, 1);
	for (size_t i = 0; i < N_AGENTS; i++)
		assert_true(scripted[i].promised > promised);
}

/* The controller never creates one group on two agents. If there are two, it must not choose
 * between them. */
static void a_group_on_two_agents_is_left_alone(void **state)
{
	VolumeGroupSnapshot *group;

	(void)state;
	add_volumes();
	for (size_t i = 0; i < 2; i++)
		add_snapshot(&scripted[i], scripted[i].datasets[0], "g")->group =
			arena_strdup(&call.arena, "g");
	assert_failed(create("g", IDS("v"), &group), ERR_FAILED_PRECONDITION, "twice");
	assert_failed(delete ("g", IDS("v@g", "x@g")), ERR_FAILED_PRECONDITION, "twice");
	assert_int_equal(scripted[0].snapshots_destroyed + scripted[1].snapshots_destroyed, 0);
}

static void wrong_requests_are_refused(void **state)
{
	VolumeGroupSnapshot *group;

	(void)state;
	add_volumes();
	assert_failed(create("", IDS("v"), &group), ERR_INVALID_ARGUMENT, "name");
	assert_failed(create("g", NO_IDS, &group), ERR_INVALID_ARGUMENT, "source_volume_ids");
	assert_failed(create("g", IDS("v", ""), &group), ERR_INVALID_ARGUMENT, "source_volume_ids");
	assert_failed(create("g", IDS("v", "w", "v"), &group), ERR_INVALID_ARGUMENT, "twice");
	assert_failed(create("g", IDS("v", "none"), &group), ERR_NOT_FOUND, "volume 'none'");
	assert_failed(create("g", IDS("v", "w", "x"), &group), ERR_FAILED_PRECONDITION,
		      "unix:///b");
	assert_int_equal(scripted[0].grouped + scripted[1].grouped, 0);
}

static void get_checks_the_list(void **state)
{
	VolumeGroupSnapshot *group;

	(void)state;
	add_volumes();
	assert_failed(get("", IDS("v@g"), &group), ERR_INVALID_ARGUMENT, "group_snapshot_id");
	assert_failed(get("g", NO_IDS, &group), ERR_NOT_FOUND, "group snapshot 'g'");
	assert_int_equal(create("g", IDS("v", "w"), &group), 0);
	assert_int_equal(get("g", IDS("v@g", "w@g"), &group), 0);
	assert_int_equal(group->n_snapshots, 2);
	assert_failed(get("g", IDS("v@g"), &group), ERR_INVALID_ARGUMENT, "w@g");
	assert_failed(get("g", IDS("v@g", "w@g", "x@g"), &group), ERR_INVALID_ARGUMENT, "x@g");
}

static void delete_checks_the_list(void **state)
{
	VolumeGroupSnapshot *group;

	(void)state;
	add_volumes();
	assert_failed(delete ("", IDS("v@g")), ERR_INVALID_ARGUMENT, "group_snapshot_id");
	assert_int_equal(delete ("g", NO_IDS), 0);
	assert_int_equal(create("g", IDS("v", "w"), &group), 0);
	add_snapshot(&scripted[1], scripted[1].datasets[0], "s");
	assert_failed(delete ("g", IDS("v@g")), ERR_INVALID_ARGUMENT, "w@g");
	assert_failed(delete ("g", IDS("v@g", "w@g", "x@s")), ERR_INVALID_ARGUMENT, "x@s");
	assert_int_equal(scripted[0].snapshots_destroyed, 0);
	assert_int_equal(delete ("g", IDS("v@g", "w@g")), 0);
	assert_int_equal(scripted[0].snapshots_destroyed, 2);
	assert_int_equal(delete ("g", IDS("v@g", "w@g")), 0);
	assert_int_equal(scripted[1].n_snapshots, 1);
}

/* If a deletion was interrupted, the same request deletes the remaining snapshots. */
static void an_interrupted_delete_is_finished(void **state)
{
	VolumeGroupSnapshot *group;

	(void)state;
	add_volumes();
	assert_int_equal(create("g", IDS("v", "w"), &group), 0);
	scripted[0].n_snapshots--;
	assert_int_equal(delete ("g", IDS("v@g", "w@g")), 0);
	assert_int_equal(scripted[0].n_snapshots, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(a_repeated_request_returns_the_same_group),
		SCRIPTED_TEST(other_volumes_are_another_group),
		SCRIPTED_TEST(create_looks_again_after_it_lost_its_claim),
		SCRIPTED_TEST(a_group_on_two_agents_is_left_alone),
		SCRIPTED_TEST(wrong_requests_are_refused),
		SCRIPTED_TEST(get_checks_the_list),
		SCRIPTED_TEST(delete_checks_the_list),
		SCRIPTED_TEST(an_interrupted_delete_is_finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
