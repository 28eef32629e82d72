/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of volumes that two agents have: which volume is kept, and which agents are called. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include "controller/rollcall.h"

static struct error err;

static int setup(void **state)
{
	assert_int_equal(scripted_setup(state), 0);
	for (size_t i = 0; i < N_AGENTS; i++)
		scripted[i].pool_guid = i + 1;
	rollcall(agents_roster(&call), 0);
	return 0;
}

/* Add the volume "v" to a host. */
static void add(size_t agent, bool maybe_blank, int64_t creation)
{
	Dataset *dataset = add_dataset(&scripted[agent], "v", 1, "");

	dataset->maybe_blank = maybe_blank;
	dataset->creation = creation;
}

static int look(void)
{
	ControllerGetVolumeRequest *request = new_controller_get_volume_request(&call.arena);

	request->volume_id = arena_strdup(&call.arena, "v");
	return controller_get_volume(&call, request,
				     new_controller_get_volume_response(&call.arena), &err);
}

static void assert_has(bool a, bool b, bool c)
{
	assert_int_equal(scripted[0].n_datasets, a);
	assert_int_equal(scripted[1].n_datasets, b);
	assert_int_equal(scripted[2].n_datasets, c);
}

static void assert_settled(unsigned a, unsigned b, unsigned c)
{
	assert_int_equal(scripted[0].settled, a);
	assert_int_equal(scripted[1].settled, b);
	assert_int_equal(scripted[2].settled, c);
}

static void a_duplicate_with_data_is_kept(void **state)
{
	(void)state;
	add(0, true, 1);
	add(2, false, 2);
	assert_int_equal(look(), 0);
	assert_has(false, false, true);
	assert_settled(1, 0, 1);
	assert_int_equal(look(), 0);
	assert_settled(1, 0, 1);
}

static void the_older_of_two_blank_duplicates_is_kept(void **state)
{
	(void)state;
	add(0, true, 3);
	add(1, true, 2);
	assert_int_equal(look(), 0);
	assert_has(false, true, false);
}

static void equal_duplicates_are_settled_by_node_id(void **state)
{
	(void)state;
	add(1, true, 2);
	add(2, true, 2);
	assert_int_equal(look(), 0);
	assert_has(false, true, false);
}

static void duplicates_with_data_are_not_settled(void **state)
{
	(void)state;
	add(0, false, 1);
	add(1, false, 2);
	assert_failed(look(), ERR_FAILED_PRECONDITION, "exists twice");
	assert_has(true, true, false);
	assert_settled(0, 0, 0);
}

/* Add the volume "v" with copies to a host, as its owner at an epoch. */
static void add_owned(size_t agent, const char *lineage, int64_t epoch)
{
	Dataset *dataset = add_dataset(&scripted[agent], "v", 1, "");

	dataset->lineage = arena_strdup(&call.arena, lineage);
	dataset->epoch = epoch;
}

static void a_duplicate_with_the_higher_epoch_is_kept(void **state)
{
	(void)state;
	add_owned(0, "00112233aabbccdd", 3);
	add_owned(2, "00112233aabbccdd", 5);
	assert_int_equal(look(), 0);
	assert_settled(0, 0, 0);
}

static void another_lineage_is_another_volume(void **state)
{
	(void)state;
	add_owned(0, "00112233aabbccdd", 3);
	add_owned(2, "ddccbbaa33221100", 5);
	assert_failed(look(), ERR_FAILED_PRECONDITION, "exists twice");
}

/* The agent of the other volume is not called unless the keeper, the agent whose volume stays, has
 * marked its volume as used. */
static void nothing_is_given_up_without_a_keeper(void **state)
{
	const enum error_code codes[] = {ERR_UNAVAILABLE, ERR_UNIMPLEMENTED, ERR_NOT_FOUND,
					 ERR_FAILED_PRECONDITION};

	(void)state;
	add(0, false, 1);
	add(1, true, 2);
	for (unsigned i = 0; i < COUNT(codes); i++) {
		scripted[0].unsettled = codes[i];
		assert_failed(look(), ERR_FAILED_PRECONDITION, "exists twice");
		assert_settled(i + 1, 0, 0);
	}
	assert_has(true, true, false);
}

static void a_refused_settlement_leaves_both(void **state)
{
	(void)state;
	add(0, false, 1);
	add(1, true, 2);
	scripted[1].unsettled = ERR_FAILED_PRECONDITION;
	assert_failed(look(), ERR_FAILED_PRECONDITION, "unix:///b");
	assert_has(true, true, false);
}

static void three_duplicates_are_settled_to_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_AGENTS; i++)
		add(i, true, 3 - (int64_t)i);
	/* The volume of b is preferred to that of a, and is then marked as used. So the volume of c
	 * is given up, although it is the oldest. */
	assert_int_equal(look(), 0);
	assert_has(false, true, false);
}

static void a_creation_settles_duplicates(void **state)
{
	CreateVolumeRequest *request = new_create_volume_request(&call.arena);
	CreateVolumeResponse created;

	(void)state;
	add(0, true, 1);
	add(1, true, 2);
	request->name = arena_strdup(&call.arena, "v");
	request->n_volume_capabilities = 1;
	request->volume_capabilities = arena_alloc(&call.arena, sizeof(VolumeCapability *));
	VolumeCapability *capability = request->volume_capabilities[0] =
		new_volume_capability(&call.arena);
	capability->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT;
	capability->mount = new_volume_capability_mount_volume(&call.arena);
	capability->access_mode = new_volume_capability_access_mode(&call.arena);
	capability->access_mode->mode = VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER;
	assert_int_equal(create_volume(&call, request, &created, &err), 0);
	assert_int_equal(scripted[0].created + scripted[1].created + scripted[2].created, 0);
	assert_has(true, false, false);
}

static void a_deletion_settles_no_duplicates(void **state)
{
	DeleteVolumeRequest *request = new_delete_volume_request(&call.arena);

	(void)state;
	add(0, false, 1);
	add(1, true, 2);
	request->volume_id = arena_strdup(&call.arena, "v");
	assert_failed(delete_volume(&call, request, new_delete_volume_response(&call.arena), &err),
		      ERR_FAILED_PRECONDITION, "exists twice");
	assert_settled(0, 0, 0);
}

#define DUPLICATE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, scripted_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DUPLICATE_TEST(a_duplicate_with_data_is_kept),
		DUPLICATE_TEST(the_older_of_two_blank_duplicates_is_kept),
		DUPLICATE_TEST(equal_duplicates_are_settled_by_node_id),
		DUPLICATE_TEST(duplicates_with_data_are_not_settled),
		DUPLICATE_TEST(a_duplicate_with_the_higher_epoch_is_kept),
		DUPLICATE_TEST(another_lineage_is_another_volume),
		DUPLICATE_TEST(nothing_is_given_up_without_a_keeper),
		DUPLICATE_TEST(a_refused_settlement_leaves_both),
		DUPLICATE_TEST(three_duplicates_are_settled_to_one),
		DUPLICATE_TEST(a_creation_settles_duplicates),
		DUPLICATE_TEST(a_deletion_settles_no_duplicates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
