/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the parameters of backups: where the volume and its copies go, what CreateVolume asks
 * the node of the backup for, and when it answers. b has the most space.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_create.c"

static void a_backup_is_not_where_the_volume_is(void **state)
{
	struct error err;

	(void)state;
	scripted[0].available = scripted[2].available + 1;
	assert_int_equal(create("backup", "b", NULL, NULL, &err), 0);
	assert_int_equal(scripted[0].created, 1);
	const AddBackupRequest *request = scripted[1].backup_request;
	assert_string_equal(request->id, "v");
	assert_string_equal(request->from_node_id, "a");
	assert_int_equal(request->every, 86400);
	assert_string_equal(request->keep, "");
}

static void the_rules_of_a_backup_are_passed_on(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(create("backup", "a", "backup_every", "6h", &err), 0);
	assert_int_equal(scripted[0].backup_request->every, 21600);
	scripted[1].n_datasets = 0;
	scripted[0].backups_asked = 0;
	assert_int_equal(create("backup", "a", "backup_keep", "daily=30", &err), 0);
	assert_string_equal(scripted[0].backup_request->keep, "daily=30");
}

static void a_volume_is_created_when_its_backup_is_there(void **state)
{
	struct error err;

	(void)state;
	scripted[0].backup_looks = 3;
	assert_int_equal(create("backup", "a", NULL, NULL, &err), 0);
	assert_int_equal(scripted[0].backups_asked, 4);
}

static void a_backup_that_is_not_there_in_time_is_asked_for_again(void **state)
{
	struct error err;

	(void)state;
	scripted[0].backup_looks = UINT_MAX;
	call.deadline = now_ms() + 1000;
	int result = create("backup", "a", NULL, NULL, &err);
	assert_failed(result, ERR_ABORTED, "create it again");
	call.deadline = NO_DEADLINE;
	scripted[0].backup_looks = scripted[0].backups_asked = 0;
	scripted[0].backup_fails = "node 'b' does not let node 'a' read its volumes";
	result = create("backup", "a", NULL, NULL, &err);
	assert_failed(result, ERR_FAILED_PRECONDITION, "does not let node 'a' read");
	scripted[0].backup_fails = NULL;
	scripted[0].backups_asked = 0;
	assert_int_equal(create("backup", "a", NULL, NULL, &err), 0);
	assert_int_equal(scripted[1].created, 1);
}

/* After all other hosts were lost, the volume was restored on the node of its backup. */
static void a_restored_volume_is_the_one_that_was_created(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[2], "v", 0, "attach=local\nbackup=c\nprovisioning=thin\n");
	assert_int_equal(create("backup", "c", NULL, NULL, &err), 0);
	assert_int_equal(scripted[2].backups_asked, 0);
}

static void a_volume_outlives_the_node_of_its_backup(void **state)
{
	struct error err;

	(void)state;
	add_dataset(&scripted[1], "v", 0, "attach=local\nbackup=gone\nprovisioning=thin\n");
	assert_int_equal(create("backup", "gone", NULL, NULL, &err), 0);
	scripted[0].silent = ERR_UNAVAILABLE;
	assert_failed(create("backup", "gone", NULL, NULL, &err), ERR_UNAVAILABLE,
		      "whether it is node 'gone'");
	assert_int_equal(scripted[1].created, 0);
}

static void no_copy_is_on_the_node_of_the_backup(void **state)
{
	struct error err;

	(void)state;
	assert_failed(create("replicas", "3", "backup", "c", &err), ERR_RESOURCE_EXHAUSTED,
		      "node 'c': it has the backup");
	add_dataset(&scripted[1], "v", 7, "backup=c\n");
	assert_int_equal(modify("replicas", "2", NULL, NULL, &err), 0);
	assert_candidates(2, "a", 0);
}

static void a_backup_that_cannot_be_is_refused_before_the_volume_is_created(void **state)
{
	struct error err;

	(void)state;
	assert_failed(create("backup", "d", NULL, NULL, &err), ERR_INVALID_ARGUMENT, "node 'd'");
	assert_failed(create("backup", "b", "node", "b", &err), ERR_INVALID_ARGUMENT,
		      "belongs on another one");
	assert_failed(create("backup", "b", "members", "a,b", &err), ERR_INVALID_ARGUMENT,
		      "belongs on another one");
	assert_failed(create("backup", "a", "backup_every", "30s", &err), ERR_INVALID_ARGUMENT,
		      "once a minute");
	scripted[0].no_copies = "it has zfs-fuse";
	assert_failed(create("backup", "a", NULL, NULL, &err), ERR_RESOURCE_EXHAUSTED,
		      "it has zfs-fuse");
	scripted[0].silent = ERR_UNAVAILABLE;
	assert_failed(create("backup", "a", NULL, NULL, &err), ERR_UNAVAILABLE, "unix:///a");
	for (size_t i = 0; i < N_AGENTS; i++)
		assert_int_equal(scripted[i].created, 0);
}

static void the_rules_need_a_backup_which_no_modification_adds(void **state)
{
	struct error err;

	(void)state;
	assert_failed(create("backup_every", "1d", NULL, NULL, &err), ERR_INVALID_ARGUMENT,
		      "needs the parameter backup");
	assert_failed(create("backup_keep", "daily=3", NULL, NULL, &err), ERR_INVALID_ARGUMENT,
		      "needs the parameter backup");
	add_dataset(&scripted[1], "v", 7, "");
	assert_failed(modify("backup", "a", NULL, NULL, &err), ERR_INVALID_ARGUMENT,
		      "zcsi backup add");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(a_backup_is_not_where_the_volume_is),
		SCRIPTED_TEST(the_rules_of_a_backup_are_passed_on),
		SCRIPTED_TEST(a_volume_is_created_when_its_backup_is_there),
		SCRIPTED_TEST(a_backup_that_is_not_there_in_time_is_asked_for_again),
		SCRIPTED_TEST(a_restored_volume_is_the_one_that_was_created),
		SCRIPTED_TEST(a_volume_outlives_the_node_of_its_backup),
		SCRIPTED_TEST(no_copy_is_on_the_node_of_the_backup),
		SCRIPTED_TEST(a_backup_that_cannot_be_is_refused_before_the_volume_is_created),
		SCRIPTED_TEST(the_rules_need_a_backup_which_no_modification_adds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
