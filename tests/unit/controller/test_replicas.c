/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the parameters of copies: which nodes CreateVolume asks for, which further nodes
 * ControllerModifyVolume asks for, and which values they pass on. The hosts a and b are in rack 1,
 * c is in rack 2, and b has the most space.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_create.c"

/* Assert that the volume was created on b with these members, separated by ',', and sync_every. */
static void assert_members(const char *expected, int64_t every)
{
	const CreateDatasetRequest *request = scripted[1].create_request;
	char *members = arena_strdup(&call.arena, "");

	assert_int_equal(scripted[1].created, 1);
	for (size_t i = 0; i < request->n_members; i++)
		members = arena_printf(&call.arena, "%s%s%s", members, i ? "," : "",
				       request->members[i]);
	assert_string_equal(members, expected);
	assert_int_equal(request->sync_every, every);
}

static void without_parameters_there_are_no_copies(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("attach", "local", NULL, NULL, &err), 0);
	assert_members("", 0);
}

static void a_copy_is_in_another_rack(void **state)
{
	struct error err;

	(void)state;
	scripted[0].available = 20;
	scripted[2].available = 5;
	assert_int_equal(create("replicas", "2", NULL, NULL, &err), 0);
	assert_members("b,c", 300);
}

static void among_equal_racks_space_decides(void **state)
{
	struct error err;

	(void)state;
	scripted[2].rack = "1";
	scripted[0].available = 20;
	scripted[2].available = 5;
	assert_int_equal(create("replicas", "2", "sync_every", "90s", &err), 0);
	assert_members("b,a", 90);
}

static void the_volume_and_its_copies_are_on_the_members(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("members", "c,a", "sync_every", "2h", &err), 0);
	const CreateDatasetRequest *request =
		scripted[0].created ? scripted[0].create_request : scripted[2].create_request;
	assert_int_equal(scripted[1].created, 0);
	assert_int_equal(request->n_members, 2);
	assert_int_equal(request->sync_every, 7200);
}

static void a_limit_is_passed_on_without_copies(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("bandwidth", "50M", NULL, NULL, &err), 0);
	assert_members("", 0);
	assert_int_equal(scripted[1].create_request->bandwidth, 52428800);
}

static void a_limit_above_four_gigabytes_is_passed_on(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("bandwidth", "5000000000", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].create_request->bandwidth, 5000000000);
}

static void sync_every_is_passed_on_without_copies(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("sync_every", "2m", NULL, NULL, &err), 0);
	assert_members("", 120);
}

static void a_new_volume_without_a_limit_has_none(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("bandwidth", "none", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].create_request->bandwidth, 0);
}

static void a_limit_is_passed_on_with_copies(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("replicas", "2", "bandwidth", "100k", &err), 0);
	assert_int_equal(scripted[1].create_request->n_members, 2);
	assert_int_equal(scripted[1].create_request->bandwidth, 102400);
}

static void too_few_hosts_are_named_with_their_reasons(void **state)
{
	struct error err;

	(void)state;
	scripted[0].no_copies = "it has zfs-fuse";
	int result = create("replicas", "3", NULL, NULL, &err);
	assert_failed(result, ERR_RESOURCE_EXHAUSTED, "node 'a': it has zfs-fuse");
	result = create("replicas", "2", "members", "b,d", &err);
	assert_failed(result, ERR_RESOURCE_EXHAUSTED, "node 'c': it is not among the members");
	scripted[2].silent = ERR_UNAVAILABLE;
	result = create("replicas", "2", NULL, NULL, &err);
	assert_int_equal(result, -1);
	for (size_t i = 0; i < N_AGENTS; i++)
		assert_int_equal(scripted[i].created, 0);
}

static void wrong_values_are_refused(void **state)
{
	static const char *const pairs[][2] = {
		{"replicas", "0"},     {"replicas", "9"},     {"replicas", "two"},
		{"sync_every", "5"},   {"sync_every", "1w"},  {"sync_every", "-1m"},
		{"sync_every", "90d"}, {"members", ""},       {"bandwidth", "63K"},
		{"bandwidth", "0"},    {"bandwidth", "50MB"}, {"bandwidth", "100001M"},
		{"bandwidth", ""},     {"bandwidth", "-50M"}, {"bandwidth", "17592186044416M"},
	};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++) {
		int result = create(pairs[i][0], pairs[i][1], NULL, NULL, &err);
		assert_failed(result, ERR_INVALID_ARGUMENT, pairs[i][0]);
	}
}

/* Returns a segment of a topology of the volume that was created, or NULL. */
static const char *segment(size_t i, const char *key)
{
	struct map segments = map_of(&call.arena, created.volume->accessible_topology[i], segments);

	return map_get(&segments, key);
}

static void a_volume_can_be_used_where_its_copies_are(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("replicas", "2", NULL, NULL, &err), 0);
	assert_string_equal(scripted[1].create_request->follow, "");
	assert_int_equal(created.volume->n_accessible_topology, 2);
	assert_string_equal(segment(0, "zcsi.zfs/node"), "b");
	assert_string_equal(segment(0, "rack"), "1");
	assert_string_equal(segment(1, "zcsi.zfs/node"), "c");
	assert_null(segment(1, "rack"));
}

static void a_volume_that_stays_can_be_used_at_its_node(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("replicas", "2", "follow", "no", &err), 0);
	assert_string_equal(scripted[1].create_request->follow, "no");
	assert_int_equal(created.volume->n_accessible_topology, 1);
	assert_string_equal(segment(0, "zcsi.zfs/node"), "b");
	assert_failed(create("replicas", "2", "follow", "me", &err), ERR_INVALID_ARGUMENT,
		      "members, anywhere, no");
}

static void a_volume_that_follows_anywhere_can_be_used_anywhere(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("follow", "anywhere", NULL, NULL, &err), 0);
	assert_string_equal(scripted[1].create_request->follow, "anywhere");
	assert_int_equal(created.volume->n_accessible_topology, 0);
}

/* The volume was created in rack 1, and has moved to c. */
static void a_volume_that_moved_is_the_one_that_was_created(void **state)
{
	struct error err;

	(void)state;
	rack = "1";
	Dataset *dataset =
		add_dataset(&scripted[2], "v", 0, "attach=local\nprovisioning=thin\nreplicas=2\n");
	set_copies(dataset, "b");
	assert_int_equal(create("replicas", "2", NULL, NULL, &err), 0);
	dataset->follows = false;
	assert_failed(create("replicas", "2", NULL, NULL, &err), ERR_ALREADY_EXISTS, "node 'c'");
	dataset->follows = true;
	rack = "3";
	assert_failed(create("replicas", "2", NULL, NULL, &err), ERR_ALREADY_EXISTS, "node 'c'");
	rack = NULL;
}

static void a_volume_gets_further_copies(void **state)
{
	struct error err;

	(void)state;
	Dataset *dataset = add_dataset(&scripted[1], "v", 7, "");
	assert_int_equal(modify("replicas", "2", NULL, NULL, &err), 0);
	assert_candidates(2, "c,a", 0);
	assert_int_equal(dataset->n_copies, 1);
	assert_int_equal(modify("replicas", "3", "sync_every", "90s", &err), 0);
	assert_candidates(3, "a", 90);
	assert_int_equal(dataset->n_copies, 2);
}

static void a_repeated_modification_names_no_further_node(void **state)
{
	struct error err;

	(void)state;
	Dataset *dataset = add_dataset(&scripted[1], "v", 7, "");
	for (int i = 0; i < 2; i++)
		assert_int_equal(modify("replicas", "2", NULL, NULL, &err), 0);
	assert_candidates(2, "", 0);
	assert_int_equal(dataset->n_copies, 1);
	assert_int_equal(modify("replicas", "1", NULL, NULL, &err), 0);
	assert_candidates(1, "", 0); /* a real agent refuses fewer replicas */
}

static void other_parameters_leave_the_copies_alone(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "");
	assert_int_equal(modify("zfs.atime", "off", NULL, NULL, &err), 0);
	assert_candidates(0, "", 0);
	assert_int_equal(modify("sync_every", "1m", NULL, NULL, &err), 0);
	assert_candidates(0, "", 60);
}

static void a_limit_is_changed_and_lifted(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "");
	assert_int_equal(modify("bandwidth", "1M", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].modify_request->bandwidth, 1048576);
	assert_int_equal(modify("bandwidth", "none", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].modify_request->bandwidth, -1);
	assert_int_equal(modify("sync_every", "1m", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].modify_request->bandwidth, 0);
	assert_failed(modify("bandwidth", "50MB", NULL, NULL, &err), ERR_INVALID_ARGUMENT,
		      "such as 500K or 50M, or none");
}

static void pin_limit_is_passed_on(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("pin_limit", "6h", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].create_request->pin_limit, 21600);
	add_dataset(&scripted[1], "v", 7, "");
	assert_int_equal(modify("pin_limit", "2d", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].modify_request->pin_limit, 172800);
	assert_int_equal(modify("bandwidth", "1M", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].modify_request->pin_limit, 0);
	assert_failed(modify("pin_limit", "none", NULL, NULL, &err), ERR_INVALID_ARGUMENT, "none");
	assert_int_equal(modify("repair_after", "1h", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].modify_request->repair_after, 3600);
	assert_int_equal(modify("repair_after", "never", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].modify_request->repair_after, -1);
	assert_failed(modify("repair_after", "off", NULL, NULL, &err), ERR_INVALID_ARGUMENT,
		      "never, or a time");
}

static void snapshots_is_passed_on(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("snapshots", "all", NULL, NULL, &err), 0);
	assert_string_equal(scripted[1].create_request->snapshots, "all");
	add_dataset(&scripted[1], "v", 7, "");
	assert_int_equal(modify("snapshots", "ours", NULL, NULL, &err), 0);
	assert_string_equal(scripted[1].modify_request->snapshots, "ours");
	assert_failed(modify("snapshots", "mine", NULL, NULL, &err), ERR_INVALID_ARGUMENT, "all");
}

static void a_volume_of_a_later_version_is_changed(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "")->format = arena_strdup(&call.arena, "later");
	assert_int_equal(modify("snapshots", "all", NULL, NULL, &err), 0);
}

static void follow_is_changed(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "");
	assert_int_equal(modify("follow", "no", NULL, NULL, &err), 0);
	assert_string_equal(scripted[1].modify_request->follow, "no");
	assert_int_equal(modify("follow", "members", NULL, NULL, &err), 0);
	assert_string_equal(scripted[1].modify_request->follow, "members");
	assert_int_equal(modify("follow", "anywhere", NULL, NULL, &err), 0);
	assert_string_equal(scripted[1].modify_request->follow, "anywhere");
}

static void further_copies_are_on_the_members_too(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "members=a,b\n");
	assert_int_equal(modify("replicas", "2", NULL, NULL, &err), 0);
	assert_candidates(2, "a", 0);
	int result = modify("replicas", "3", NULL, NULL, &err);
	assert_failed(result, ERR_RESOURCE_EXHAUSTED, "node 'a': it has a copy");
	assert_failed(result, ERR_RESOURCE_EXHAUSTED, "node 'c': it is not among the members");
	assert_int_equal(scripted[1].modified, 1);
}

static void members_are_changed_by_zcsi_copy(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "");
	int result = modify("members", "a,b", NULL, NULL, &err);
	assert_failed(result, ERR_INVALID_ARGUMENT, "zcsi copy add VOLUME NODE");
	assert_int_equal(scripted[1].modified, 0);
}

static void an_agent_without_copies_is_no_success(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "v", 7, "");
	scripted[1].older = true;
	static const char *const pairs[][2] = {{"replicas", "2"},   {"sync_every", "1m"},
					       {"bandwidth", "1M"}, {"snapshots", "all"},
					       {"pin_limit", "1h"}, {"follow", "no"}};
	for (size_t i = 0; i < COUNT(pairs); i++) {
		int result = modify(pairs[i][0], pairs[i][1], NULL, NULL, &err);
		assert_failed(result, ERR_FAILED_PRECONDITION, "unix:///b");
	}
	assert_int_equal(modify("zfs.atime", "off", NULL, NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(without_parameters_there_are_no_copies),
		SCRIPTED_TEST(a_copy_is_in_another_rack),
		SCRIPTED_TEST(among_equal_racks_space_decides),
		SCRIPTED_TEST(the_volume_and_its_copies_are_on_the_members),
		SCRIPTED_TEST(a_limit_is_passed_on_without_copies),
		SCRIPTED_TEST(a_limit_above_four_gigabytes_is_passed_on),
		SCRIPTED_TEST(sync_every_is_passed_on_without_copies),
		SCRIPTED_TEST(a_new_volume_without_a_limit_has_none),
		SCRIPTED_TEST(a_limit_is_passed_on_with_copies),
		SCRIPTED_TEST(too_few_hosts_are_named_with_their_reasons),
		SCRIPTED_TEST(wrong_values_are_refused),
		SCRIPTED_TEST(a_volume_gets_further_copies),
		SCRIPTED_TEST(a_repeated_modification_names_no_further_node),
		SCRIPTED_TEST(other_parameters_leave_the_copies_alone),
		SCRIPTED_TEST(a_limit_is_changed_and_lifted),
		SCRIPTED_TEST(pin_limit_is_passed_on),
		SCRIPTED_TEST(snapshots_is_passed_on),
		SCRIPTED_TEST(a_volume_can_be_used_where_its_copies_are),
		SCRIPTED_TEST(a_volume_that_stays_can_be_used_at_its_node),
		SCRIPTED_TEST(a_volume_that_follows_anywhere_can_be_used_anywhere),
		SCRIPTED_TEST(a_volume_that_moved_is_the_one_that_was_created),
		SCRIPTED_TEST(a_volume_of_a_later_version_is_changed),
		SCRIPTED_TEST(follow_is_changed),
		SCRIPTED_TEST(further_copies_are_on_the_members_too),
		SCRIPTED_TEST(members_are_changed_by_zcsi_copy),
		SCRIPTED_TEST(an_agent_without_copies_is_no_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
