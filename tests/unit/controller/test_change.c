/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the RPCs for existing volumes with several agents: get, expand, modify, and the free
 * capacity.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include "controller/request/capacity_range.h"

#define GIB ((int64_t)1 << 30)

static struct error err;

static void an_expansion_never_shrinks_and_always_asks_the_agent(void **state)
{
	ControllerExpandVolumeRequest *request = new_controller_expand_volume_request(&call.arena);
	ControllerExpandVolumeResponse *response =
		new_controller_expand_volume_response(&call.arena);
	char id[] = "v";

	(void)state;
	request->volume_id = id;
	assert_failed(controller_expand_volume(&call, request, response, &err),
		      ERR_INVALID_ARGUMENT, "capacity_range");
	request->capacity_range = new_capacity_range(&call.arena);
	request->capacity_range->required_bytes = GIB;
	assert_failed(controller_expand_volume(&call, request, response, &err), ERR_NOT_FOUND,
		      "volume 'v'");
	add_dataset(&scripted[0], "v", GIB, "");
	assert_int_equal(controller_expand_volume(&call, request, response, &err), 0);
	assert_int_equal(response->capacity_bytes, GIB);
	request->capacity_range->required_bytes = GIB / 2;
	assert_int_equal(controller_expand_volume(&call, request, response, &err), 0);
	assert_int_equal(response->capacity_bytes, GIB);
	request->capacity_range->required_bytes = GIB + 1;
	assert_int_equal(controller_expand_volume(&call, request, response, &err), 0);
	assert_int_equal(response->capacity_bytes, GIB + 1);
	/* The agent is called even if the volume is large enough, because its reservation may be
	 * missing. */
	assert_int_equal(scripted[0].resized, 3);
	request->capacity_range->required_bytes = 0;
	request->capacity_range->limit_bytes = GIB;
	assert_failed(controller_expand_volume(&call, request, response, &err), ERR_OUT_OF_RANGE,
		      "never shrink");
}

static void expand_without_quota(void **state)
{
	ControllerExpandVolumeRequest *request = new_controller_expand_volume_request(&call.arena);
	ControllerExpandVolumeResponse *response =
		new_controller_expand_volume_response(&call.arena);
	char id[] = "v";

	(void)state;
	add_dataset(&scripted[0], id, 0, "");
	request->volume_id = id;
	request->capacity_range = new_capacity_range(&call.arena);
	request->capacity_range->required_bytes = GIB;
	assert_int_equal(controller_expand_volume(&call, request, response, &err), 0);
	assert_int_equal(response->capacity_bytes, GIB);
	assert_int_equal(scripted[0].resized, 0);
}

static int get(const char *id, ControllerGetVolumeResponse **ret)
{
	ControllerGetVolumeRequest *request = new_controller_get_volume_request(&call.arena);

	request->volume_id = arena_strdup(&call.arena, id);
	*ret = new_controller_get_volume_response(&call.arena);
	return controller_get_volume(&call, request, *ret, &err);
}

static void get_volume_returns_publications_and_the_condition(void **state)
{
	ControllerGetVolumeResponse *response;
	Publication *publication = new_publication(&call.arena);
	char node[] = "c", problem[] = "the pool is suspended";

	(void)state;
	publication->node_id = node;
	assert_failed(get("", &response), ERR_INVALID_ARGUMENT, "volume_id");
	assert_failed(get("v", &response), ERR_NOT_FOUND, "volume 'v'");
	Dataset *dataset = add_dataset(&scripted[2], "v", 7, "");
	dataset->n_published = 1;
	dataset->published = &publication;
	assert_int_equal(get("v", &response), 0);
	assert_int_equal(response->volume->capacity_bytes, 7);
	assert_int_equal(response->status->n_published_node_ids, 1);
	assert_string_equal(response->status->published_node_ids[0], "c");
	assert_false(response->status->volume_condition->abnormal);
	assert_true(*response->status->volume_condition->message);
	scripted[2].problem = problem;
	assert_int_equal(get("v", &response), 0);
	assert_true(response->status->volume_condition->abnormal);
	assert_string_equal(response->status->volume_condition->message, problem);
}

static int modify(const char *id, const char *key, const char *value)
{
	ControllerModifyVolumeRequest *request = new_controller_modify_volume_request(&call.arena);

	request->volume_id = arena_strdup(&call.arena, id);
	if (key) {
		map_put(&call.arena, request, mutable_parameters, "zfs.sync", "always");
		map_put(&call.arena, request, mutable_parameters, key, value);
	}
	return controller_modify_volume(&call, request,
					new_controller_modify_volume_response(&call.arena), &err);
}

static void modify_changes_what_it_names(void **state)
{
	(void)state;
	assert_failed(modify("", "zfs.atime", "off"), ERR_INVALID_ARGUMENT, "volume_id");
	assert_failed(modify("v", NULL, NULL), ERR_INVALID_ARGUMENT, "mutable_parameters");
	assert_failed(modify("v", "zfs.atime", "off"), ERR_NOT_FOUND, "volume 'v'");
	add_dataset(&scripted[0], "v", GIB, "attach=local\n");
	assert_failed(modify("v", "XXX_FakeKey", "x"), ERR_INVALID_ARGUMENT, "XXX_FakeKey");
	assert_failed(modify("v", "attach", "local"), ERR_INVALID_ARGUMENT, "attach");
	assert_failed(modify("v", "zfs.atime", "x"), ERR_INVALID_ARGUMENT, "zfs.atime");
	assert_int_equal(scripted[0].modified, 0);
	assert_int_equal(modify("v", "zfs.user.a:b", "c"), 0);
	const ModifyDatasetRequest *request = scripted[0].modify_request;
	assert_int_equal(request->n_properties, 2);
	assert_string_equal(request->properties[0]->name, "sync");
	assert_string_equal(request->properties[1]->name, "a:b");
	assert_string_equal(request->properties[1]->value, "c");
}

static void capacity_is_that_of_usable_pools_in_the_topology(void **state)
{
	GetCapacityRequest *request = new_get_capacity_request(&call.arena);
	GetCapacityResponse *response = new_get_capacity_response(&call.arena);

	(void)state;
	assert_int_equal(get_capacity(&call, request, response, &err), 0);
	assert_int_equal(response->available_capacity, 60);
	assert_int_equal(response->maximum_volume_size->value, VOLUME_SIZE_MAX);
	response = new_get_capacity_response(&call.arena);
	request->accessible_topology = new_topology(&call.arena);
	map_put(&call.arena, request->accessible_topology, segments, "rack", "1");
	scripted[1].problem = "the pool is gone";
	assert_int_equal(get_capacity(&call, request, response, &err), 0);
	assert_int_equal(response->available_capacity, 10);
}

/* The maximum size of a volume is bounded by the size limits of a host, and with provisioning=thick
 * also by the host's free space. */
static void capacity_within_limits(void **state)
{
	GetCapacityRequest *request = new_get_capacity_request(&call.arena);
	GetCapacityResponse *response = new_get_capacity_response(&call.arena);
	SizeLimit all = *new_size_limit(&call.arena), one = all;
	char prefix[] = "prod-";

	(void)state;
	map_put(&call.arena, request, parameters, "provisioning", "thick");
	assert_int_equal(get_capacity(&call, request, response, &err), 0);
	assert_int_equal(response->maximum_volume_size->value, 30);
	all.limit = 100;
	all.promised = 95;
	one.prefix = prefix;
	one.limit = 1;
	scripted[0].size_limit = scripted[2].size_limit = &all;
	scripted[1].size_limit = &one;
	response = new_get_capacity_response(&call.arena);
	assert_int_equal(get_capacity(&call, request, response, &err), 0);
	assert_int_equal(response->available_capacity, 5 + 30 + 5);
	assert_int_equal(response->maximum_volume_size->value, 30);
	all.promised = 20;
	scripted[1].problem = "the pool is gone";
	response = new_get_capacity_response(&call.arena);
	assert_int_equal(get_capacity(&call, request, response, &err), 0);
	assert_int_equal(response->available_capacity, 10 + 20);
	assert_int_equal(response->maximum_volume_size->value, 20);
	request = new_get_capacity_request(&call.arena);
	response = new_get_capacity_response(&call.arena);
	assert_int_equal(get_capacity(&call, request, response, &err), 0);
	assert_int_equal(response->maximum_volume_size->value, 80);
	all.promised = 200;
	response = new_get_capacity_response(&call.arena);
	assert_int_equal(get_capacity(&call, request, response, &err), 0);
	assert_int_equal(response->available_capacity, 0);
	assert_int_equal(response->maximum_volume_size->value, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(an_expansion_never_shrinks_and_always_asks_the_agent),
		SCRIPTED_TEST(expand_without_quota),
		SCRIPTED_TEST(get_volume_returns_publications_and_the_condition),
		SCRIPTED_TEST(modify_changes_what_it_names),
		SCRIPTED_TEST(capacity_is_that_of_usable_pools_in_the_topology),
		SCRIPTED_TEST(capacity_within_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
