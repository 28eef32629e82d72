/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of ControllerGetVolumeHealth and ControllerListVolumeHealth: what they say of the copies of
 * a volume, which is on node a, and of what other nodes have put aside. The copies may be behind by
 * 100 seconds.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include "controller/rollcall.h"

static struct error err;
static Dataset *volume;

static DatasetCopy *add_copy(const char *node)
{
	DatasetCopy *copy = new_dataset_copy(&call.arena);

	copy->node_id = arena_strdup(&call.arena, node);
	copy->every = 100;
	copy->known = true;
	volume->copies[volume->n_copies++] = copy;
	return copy;
}

/* Make the volume v with a copy on b that is behind by some seconds. */
static DatasetCopy *with_copy(int64_t behind)
{
	volume = add_dataset(&scripted[0], "v", 7, "");
	volume->copies = arena_alloc(&call.arena, 3 * sizeof(*volume->copies));
	DatasetCopy *copy = add_copy("b");
	copy->complete = true;
	copy->behind = behind;
	return copy;
}

static void fails(DatasetCopy *copy, const char *why)
{
	copy->error = arena_strdup(&call.arena, why);
}

static VolumeHealth *health(void)
{
	ControllerGetVolumeHealthRequest *request =
		new_controller_get_volume_health_request(&call.arena);
	ControllerGetVolumeHealthResponse *response =
		new_controller_get_volume_health_response(&call.arena);

	request->volume_id = arena_strdup(&call.arena, "v");
	assert_int_equal(controller_get_volume_health(&call, request, response, &err), 0);
	return response->volume_health;
}

static void assert_healthy(void)
{
	assert_int_equal(health()->n_health_statuses, 0);
}

/* Assert that the volume is degraded for this reason, and that the message has the words. */
static void assert_degraded(const char *reason, const char *const *words)
{
	const VolumeHealth *said = health();

	assert_int_equal(said->n_health_statuses, 1);
	const VolumeHealth_VolumeHealthEntry *entry = said->health_statuses[0];
	assert_int_equal(entry->status, VOLUME_HEALTH_ERROR_TYPE_DEGRADED);
	assert_string_equal(entry->reason, reason);
	for (; *words; words++)
		assert_non_null(strstr(entry->message, *words));
}

#define assert_says(reason, ...) assert_degraded(reason, (const char *const[]){__VA_ARGS__, NULL})

static void a_volume_without_copies_is_healthy(void **state)
{
	(void)state;
	add_dataset(&scripted[0], "v", 7, "");
	assert_healthy();
}

static void a_copy_lags_after_three_times_what_is_allowed(void **state)
{
	(void)state;
	DatasetCopy *copy = with_copy(300);
	assert_healthy();
	copy->behind = 301;
	assert_says("Lagging", "node 'b'", "301 s behind", "100 s", "waits", "zcsi copies v");
	copy->running = true;
	assert_says("Lagging", "a push runs");
	fails(copy, "its pool is full; free space there");
	assert_says("Lagging", "its pool is full; free space there", "'zcsi sync v'");
}

static void a_push_that_failed_is_no_lag_yet(void **state)
{
	(void)state;
	fails(with_copy(299), "it does not answer");
	assert_healthy();
}

static void without_a_complete_copy_there_is_no_replica(void **state)
{
	(void)state;
	DatasetCopy *copy = with_copy(0);
	copy->complete = false;
	copy->running = true;
	assert_says("NoReplica", "only node 'a' has all data", "node 'b': a push runs",
		    "zcsi copies v");
	fails(add_copy("c"), "it does not answer");
	assert_says("NoReplica", "node 'b': a push runs", "node 'c': it does not answer");
	copy->complete = true;
	assert_says("Lagging", "the copy on node 'c' is not complete: it does not answer");
}

static void a_further_copy_that_is_being_made_is_no_problem(void **state)
{
	(void)state;
	with_copy(0);
	add_copy("c")->running = true;
	assert_healthy();
}

static void an_unknown_state_is_no_problem(void **state)
{
	(void)state;
	DatasetCopy *copy = with_copy(0);
	copy->complete = copy->known = false;
	assert_healthy();
	fails(add_copy("c"), "it does not answer");
	assert_says("Lagging", "node 'c'");
}

static void a_problem_of_the_pool_goes_first(void **state)
{
	(void)state;
	with_copy(1000);
	scripted[0].problem = "the pool is suspended";
	assert_string_equal(health()->health_statuses[0]->reason, "PoolUnavailable");
}

/* Let a host say at the next roll call that it has put data of the volume aside. */
static void puts_aside(struct client *client, const char *id)
{
	client->diverged = id ? name_hash(NAME_VOLUME, id) : 0;
	rollcall(agents_roster(&call), 0);
}

static void a_volume_is_diverged_while_a_host_reports_it(void **state)
{
	(void)state;
	with_copy(0);
	puts_aside(&scripted[1], "another");
	assert_healthy();
	puts_aside(&scripted[1], "v");
	assert_says("Diverged", "on node 'b', since", "'zcsi diverged list v'",
		    "'zcsi diverged drop NAME'");
	puts_aside(&scripted[2], "v");
	assert_says("Diverged", "on node 'b', 'c', since");
	scripted[1].silent = scripted[2].silent = ERR_UNAVAILABLE;
	rollcall(agents_roster(&call), 0);
	assert_says("Diverged", "on node 'b', 'c', since");
	scripted[1].silent = scripted[2].silent = ERR_OK;
	puts_aside(&scripted[1], NULL);
	puts_aside(&scripted[2], NULL);
	assert_healthy();
}

static void both_conditions_are_reported(void **state)
{
	ControllerGetVolumeRequest *request = new_controller_get_volume_request(&call.arena);
	ControllerGetVolumeResponse *one = new_controller_get_volume_response(&call.arena);

	(void)state;
	with_copy(301);
	puts_aside(&scripted[1], "v");
	const VolumeHealth *said = health();
	assert_int_equal(said->n_health_statuses, 2);
	assert_string_equal(said->health_statuses[0]->reason, "Lagging");
	assert_string_equal(said->health_statuses[1]->reason, "Diverged");
	request->volume_id = arena_strdup(&call.arena, "v");
	assert_int_equal(controller_get_volume(&call, request, one, &err), 0);
	const VolumeCondition *condition = one->status->volume_condition;
	assert_true(condition->abnormal);
	assert_non_null(strstr(condition->message, "301 s behind"));
	assert_non_null(strstr(condition->message, "; data that is not in the volume is kept"));
}

static ControllerListVolumeHealthResponse *unhealthy(void)
{
	ControllerListVolumeHealthResponse *response =
		new_controller_list_volume_health_response(&call.arena);

	assert_int_equal(controller_list_volume_health(
				 &call, new_controller_list_volume_health_request(&call.arena),
				 response, &err),
			 0);
	return response;
}

/* Assert which of the two volumes ListVolumes calls abnormal. */
static void assert_abnormal(bool first, bool second)
{
	ListVolumesResponse *all = new_list_volumes_response(&call.arena);

	assert_int_equal(list_volumes(&call, new_list_volumes_request(&call.arena), all, &err), 0);
	assert_true(all->entries[0]->status->volume_condition->abnormal == first);
	assert_true(all->entries[1]->status->volume_condition->abnormal == second);
}

static void lists_have_the_same_conditions(void **state)
{
	(void)state;
	with_copy(301);
	add_dataset(&scripted[1], "w", 7, "");
	ControllerListVolumeHealthResponse *list = unhealthy();
	assert_int_equal(list->n_entries, 1);
	assert_string_equal(list->entries[0]->volume_id, "v");
	assert_string_equal(list->entries[0]->health_statuses[0]->reason, "Lagging");
	assert_abnormal(true, false);
	puts_aside(&scripted[0], "w");
	list = unhealthy();
	assert_int_equal(list->n_entries, 2);
	assert_string_equal(list->entries[1]->health_statuses[0]->reason, "Diverged");
	assert_abnormal(true, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(a_volume_without_copies_is_healthy),
		SCRIPTED_TEST(a_copy_lags_after_three_times_what_is_allowed),
		SCRIPTED_TEST(a_push_that_failed_is_no_lag_yet),
		SCRIPTED_TEST(without_a_complete_copy_there_is_no_replica),
		SCRIPTED_TEST(a_further_copy_that_is_being_made_is_no_problem),
		SCRIPTED_TEST(an_unknown_state_is_no_problem),
		SCRIPTED_TEST(a_problem_of_the_pool_goes_first),
		SCRIPTED_TEST(a_volume_is_diverged_while_a_host_reports_it),
		SCRIPTED_TEST(both_conditions_are_reported),
		SCRIPTED_TEST(lists_have_the_same_conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
