/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the volume RPCs with several agents: which agents are called, the result if one does not
 * answer, and the answer to a repeated request.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#include <limits.h>

#define GIB ((int64_t)1 << 30)

static struct error err;

static VolumeCapability *capability(void)
{
	VolumeCapability *usual = new_volume_capability(&call.arena);

	usual->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT;
	usual->mount = new_volume_capability_mount_volume(&call.arena);
	usual->access_mode = new_volume_capability_access_mode(&call.arena);
	usual->access_mode->mode = VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER;
	return usual;
}

static CreateVolumeRequest *create_request(const char *name, int64_t size)
{
	CreateVolumeRequest *request = new_create_volume_request(&call.arena);

	request->name = arena_strdup(&call.arena, name);
	request->n_volume_capabilities = 1;
	request->volume_capabilities = arena_alloc(&call.arena, sizeof(VolumeCapability *));
	request->volume_capabilities[0] = capability();
	request->capacity_range = new_capacity_range(&call.arena);
	request->capacity_range->required_bytes = size;
	return request;
}

static int create(const CreateVolumeRequest *request, Volume **ret)
{
	CreateVolumeResponse *response = new_create_volume_response(&call.arena);
	int result = create_volume(&call, request, response, &err);

	*ret = response->volume;
	return result;
}

static void ask_topology(CreateVolumeRequest *request, const char *key, const char *value)
{
	TopologyRequirement *requirement = new_topology_requirement(&call.arena);

	requirement->n_requisite = 1;
	requirement->requisite = arena_alloc(&call.arena, sizeof(Topology *));
	requirement->requisite[0] = new_topology(&call.arena);
	map_put(&call.arena, requirement->requisite[0], segments, key, value);
	request->accessibility_requirements = requirement;
}

static unsigned created(void)
{
	return scripted[0].created + scripted[1].created + scripted[2].created;
}

/* Every node can use an exported volume, so a requisite topology is only preferred. */
static void an_exported_volume_is_created_in_any_topology(void **state)
{
	CreateVolumeRequest *request = create_request("v", GIB);
	Volume *volume;

	(void)state;
	map_put(&call.arena, request, parameters, "attach", "nfs");
	ask_topology(request, "rack", "9");
	assert_int_equal(create(request, &volume), 0);
	assert_int_equal(volume->n_accessible_topology, 0);
	assert_int_equal(scripted[1].created, 1);
	request->name = arena_strdup(&call.arena, "w");
	ask_topology(request, "rack", "2");
	assert_int_equal(create(request, &volume), 0);
	assert_int_equal(scripted[2].created, 1);
}

static void create_places_and_repeats(void **state)
{
	Volume *volume, *again;

	(void)state;
	assert_int_equal(create(create_request("v", GIB), &volume), 0);
	assert_int_equal(scripted[1].created, 1);
	assert_string_equal(volume->volume_id, "v");
	assert_int_equal(volume->capacity_bytes, GIB);
	struct map segments = map_of(&call.arena, volume->accessible_topology[0], segments);
	assert_int_equal(segments.n, 2);
	assert_string_equal(map_get(&segments, "zcsi.zfs/node"), "b");
	struct map context = map_of(&call.arena, volume, volume_context);
	assert_string_equal(map_get(&context, "attach"), "local");
	/* Although host a now has the most space, the volume stays where it is. */
	scripted[0].available = 100;
	assert_int_equal(create(create_request("v", GIB), &again), 0);
	assert_int_equal(created(), 1);
	assert_int_equal(protobuf_c_message_get_packed_size(&again->base),
			 protobuf_c_message_get_packed_size(&volume->base));
}

/* If an agent has promised another caller a claim in the future, the next claim is higher than
 * that. */
static void create_claims_above_every_promise(void **state)
{
	uint64_t promised = UINT64_MAX / 4;
	Volume *volume;

	(void)state;
	scripted[2].promised = promised;
	assert_int_equal(create(create_request("v", GIB), &volume), 0);
	assert_int_equal(created(), 1);
	for (size_t i = 0; i < N_AGENTS; i++)
		assert_true(scripted[i].promised > promised);
}

static void create_looks_again_after_it_lost_its_claim(void **state)
{
	Volume *volume;

	(void)state;
	scripted[1].n_aborts = 2;
	assert_int_equal(create(create_request("v", GIB), &volume), 0);
	assert_int_equal(scripted[1].n_aborts, 0);
	assert_int_equal(created(), 1);
	/* At the deadline the call fails with the agent's error. */
	scripted[1].n_aborts = UINT_MAX;
	call.deadline = now_ms() + 150;
	assert_int_equal(create(create_request("w", GIB), &volume), -1);
	assert_true(err.code == ERR_ABORTED);
	assert_int_equal(created(), 1);
}

static void an_existing_volume_is_compared_with_the_request(void **state)
{
	CreateVolumeRequest *request = create_request("v", GIB);
	Volume *volume;

	(void)state;
	map_put(&call.arena, request, parameters, "zfs.compression", "lz4");
	assert_int_equal(create(request, &volume), 0);
	request->capacity_range->required_bytes = 2 * GIB;
	assert_failed(create(request, &volume), ERR_ALREADY_EXISTS, "capacity");
	/* If the parameters differ too, the error is about them: the request may mean another
	 * volume. */
	map_put(&call.arena, request, parameters, "zfs.compression", "off");
	assert_failed(create(request, &volume), ERR_ALREADY_EXISTS,
		      "zfs.compression is 'lz4', the request asks for 'off'; choose another name");
	request->n_parameters = 1;
	request->capacity_range->required_bytes = GIB;
	ask_topology(request, "rack", "2");
	assert_failed(create(request, &volume), ERR_ALREADY_EXISTS, "accessibility_requirements");
	ask_topology(request, "rack", "1");
	assert_int_equal(create(request, &volume), 0);
	assert_int_equal(created(), 1);
}

static void create_needs_every_agent(void **state)
{
	Volume *volume;

	(void)state;
	scripted[0].silent = ERR_UNAVAILABLE;
	assert_failed(create(create_request("v", GIB), &volume), ERR_UNAVAILABLE, "unix:///a");
	assert_failed(create(create_request("v", GIB), &volume), ERR_UNAVAILABLE,
		      "or remove it from the list of agents");
	scripted[0].silent = ERR_OK;
	scripted[0].lookup = ERR_FAILED_PRECONDITION;
	assert_failed(create(create_request("v", GIB), &volume), ERR_FAILED_PRECONDITION,
		      "unix:///a");
	assert_int_equal(created(), 0);
	/* Once the volume is found, agents that do not answer do not matter. */
	add_dataset(&scripted[2], "v", GIB, "attach=local\n");
	assert_int_equal(create(create_request("v", GIB), &volume), 0);
	assert_int_equal(created(), 0);
}

static void a_host_without_a_pool_is_not_chosen(void **state)
{
	Volume *volume;

	(void)state;
	scripted[1].pool = "";
	scripted[1].lookup = ERR_FAILED_PRECONDITION;
	assert_int_equal(create(create_request("v", GIB), &volume), 0);
	assert_int_equal(scripted[2].created, 1);
}

static void wrong_requests_are_refused(void **state)
{
	CreateVolumeRequest *mutable = create_request("v", GIB), *none = create_request("v", GIB);
	CreateVolumeRequest *fixed = create_request("v", GIB);
	Volume *volume;

	(void)state;
	map_put(&call.arena, mutable, mutable_parameters, "XXX_FakeKey", "b");
	map_put(&call.arena, fixed, mutable_parameters, "provisioning", "thick");
	none->n_volume_capabilities = 0;
	assert_failed(create(create_request("", GIB), &volume), ERR_INVALID_ARGUMENT, "name");
	assert_failed(create(create_request("v", -1), &volume), ERR_INVALID_ARGUMENT, "negative");
	assert_failed(create(mutable, &volume), ERR_INVALID_ARGUMENT, "XXX_FakeKey");
	assert_failed(create(fixed, &volume), ERR_INVALID_ARGUMENT, "provisioning");
	assert_failed(create(none, &volume), ERR_INVALID_ARGUMENT, "volume_capabilities");
	assert_int_equal(created(), 0);
}

static const char *asked_property(const struct client *client, const char *name)
{
	const CreateDatasetRequest *request = client->create_request;

	for (size_t i = 0; i < request->n_properties; i++)
		if (strcmp(request->properties[i]->name, name) == 0)
			return request->properties[i]->value;
	return NULL;
}

static void a_thick_volume_has_a_reservation(void **state)
{
	CreateVolumeRequest *request = create_request("v", GIB);
	Volume *volume;

	(void)state;
	assert_int_equal(create(create_request("thin", GIB), &volume), 0);
	assert_null(asked_property(&scripted[1], "refreservation"));
	map_put(&call.arena, request, parameters, "provisioning", "thick");
	assert_int_equal(create(request, &volume), 0);
	assert_string_equal(asked_property(&scripted[1], "refreservation"), "1073741824");
	request->name = arena_strdup(&call.arena, "thin");
	assert_failed(create(request, &volume), ERR_ALREADY_EXISTS, "provisioning is 'thin'");
}

/* The effective value is compared, whether it came from parameters or from mutable_parameters. */
static void mutable_parameters_replace_parameters(void **state)
{
	CreateVolumeRequest *request = create_request("v", GIB), *plain = create_request("v", GIB);
	Volume *volume;

	(void)state;
	map_put(&call.arena, request, parameters, "zfs.sync", "always");
	map_put(&call.arena, request, mutable_parameters, "zfs.sync", "disabled");
	assert_int_equal(create(request, &volume), 0);
	assert_string_equal(asked_property(&scripted[1], "sync"), "disabled");
	assert_int_equal(create(request, &volume), 0);
	map_put(&call.arena, plain, parameters, "zfs.sync", "always");
	assert_failed(create(plain, &volume), ERR_ALREADY_EXISTS, "zfs.sync is 'disabled'");
	assert_int_equal(created(), 1);
}

static int delete (const char *id)
{
	DeleteVolumeRequest *request = new_delete_volume_request(&call.arena);

	request->volume_id = arena_strdup(&call.arena, id);
	return delete_volume(&call, request, new_delete_volume_response(&call.arena), &err);
}

static void delete_asks_every_agent(void **state)
{
	(void)state;
	assert_failed(delete (""), ERR_INVALID_ARGUMENT, "volume_id");
	assert_int_equal(delete ("v"), 0);
	scripted[2].silent = ERR_DEADLINE_EXCEEDED;
	assert_failed(delete ("v"), ERR_UNAVAILABLE, "unix:///c");
	assert_failed(delete ("v"), ERR_UNAVAILABLE, "'zcsi why v' says what to do");
	add_dataset(&scripted[0], "v", GIB, "");
	assert_int_equal(delete ("v"), 0);
	assert_int_equal(scripted[0].destroyed, 1);
}

/* Only NOT_FOUND proves that a volume does not exist. If the controller returned OK after another
 * error, the volume would leak for ever. */
static void delete_needs_not_found_from_every_agent(void **state)
{
	static const enum error_code codes[] = {
		ERR_UNKNOWN,
		ERR_INVALID_ARGUMENT,
		ERR_DEADLINE_EXCEEDED,
		ERR_PERMISSION_DENIED,
		ERR_UNIMPLEMENTED,
		ERR_INTERNAL,
		ERR_RESOURCE_EXHAUSTED,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(codes); i++) {
		scripted[1].lookup = codes[i];
		assert_failed(delete ("v"), ERR_UNAVAILABLE, "unix:///b");
	}
	scripted[1].lookup = ERR_NOT_FOUND;
	assert_int_equal(delete ("v"), 0);
}

/* An agent that waits for another call with the volume until the deadline is not down. */
static void an_agent_that_waited_until_the_deadline_is_not_unavailable(void **state)
{
	(void)state;
	scripted[1].lookup = ERR_ABORTED;
	call.deadline = now_ms() + 400;
	assert_failed(delete ("v"), ERR_DEADLINE_EXCEEDED, "unix:///b");
	call.deadline = NO_DEADLINE;
	assert_failed(delete ("v"), ERR_UNAVAILABLE, "unix:///b");
}

static void duplicates_are_not_deleted(void **state)
{
	(void)state;
	add_dataset(&scripted[0], "v", GIB, "");
	add_dataset(&scripted[2], "v", GIB, "");
	assert_failed(delete ("v"), ERR_FAILED_PRECONDITION, "unix:///a");
	assert_non_null(strstr(err.text, "unix:///c"));
	assert_int_equal(scripted[0].destroyed + scripted[2].destroyed, 0);
}

static int publish(const char *id, const char *node, struct map *ret)
{
	ControllerPublishVolumeRequest *request =
		new_controller_publish_volume_request(&call.arena);
	ControllerPublishVolumeResponse *response =
		new_controller_publish_volume_response(&call.arena);

	request->volume_id = arena_strdup(&call.arena, id);
	request->node_id = arena_strdup(&call.arena, node);
	request->volume_capability = capability();
	int result = controller_publish_volume(&call, request, response, &err);
	*ret = map_of(&call.arena, response, publish_context);
	return result;
}

/* After FAILED_PRECONDITION Nomad repeats the call without an event that shows the error. */
static void only_another_node_makes_a_publish_wait(void **state)
{
	struct map context;

	(void)state;
	add_dataset(&scripted[0], "v", GIB, "attach=nfs\n")->format =
		arena_strdup(&call.arena, "zfs2");
	assert_failed(publish("v", "a", &context), ERR_UNAVAILABLE, "'zfs2'");
	scripted[0].datasets[0]->format = arena_strdup(&call.arena, "ext4");
	assert_int_equal(publish("v", "a", &context), 0);
	scripted[0].datasets[0]->format = arena_strdup(&call.arena, "block");
	assert_failed(publish("v", "a", &context), ERR_INVALID_ARGUMENT, "block device");
	scripted[0].datasets[0]->format = arena_strdup(&call.arena, "zfs");
	assert_failed(publish("v", "b", &context), ERR_UNAVAILABLE, "node 'b' has no address");
	scripted[0].in_use = true;
	assert_failed(publish("v", "a", &context), ERR_FAILED_PRECONDITION, "in use on node 'z'");
	scripted[0].lookup = ERR_FAILED_PRECONDITION;
	assert_failed(publish("v", "a", &context), ERR_UNAVAILABLE, "unix:///a");
	scripted[0].lookup = ERR_OK;
	add_dataset(&scripted[1], "w", GIB, "");
	add_dataset(&scripted[2], "w", GIB, "");
	assert_failed(publish("w", "b", &context), ERR_UNAVAILABLE, "exists twice");
}

static void publish_checks_in_order(void **state)
{
	struct map context;

	(void)state;
	assert_failed(publish("", "a", &context), ERR_INVALID_ARGUMENT, "volume_id");
	assert_failed(publish("v", "", &context), ERR_INVALID_ARGUMENT, "node_id");
	assert_failed(publish("v", "x", &context), ERR_NOT_FOUND, "volume 'v'");
	add_dataset(&scripted[0], "v", GIB, "");
	assert_failed(publish("v", "x", &context), ERR_NOT_FOUND, "node 'x'");
	assert_failed(publish("v", "b", &context), ERR_INVALID_ARGUMENT, "on node 'a'");
	scripted[2].silent = ERR_UNAVAILABLE;
	assert_failed(publish("v", "x", &context), ERR_UNAVAILABLE, "unix:///c");
	assert_int_equal(scripted[0].published, 0);
	/* If the node is the one that has the volume, the other agents are not asked. */
	assert_int_equal(publish("v", "a", &context), 0);
	assert_int_equal(scripted[0].published, 1);
	assert_string_equal(map_get(&context, "attach"), "local");
	assert_string_equal(map_get(&context, "dataset"), "pool-a/csi/v");
}

static void unpublish_asks_the_owner_and_may_repeat(void **state)
{
	ControllerUnpublishVolumeRequest *request =
		new_controller_unpublish_volume_request(&call.arena);
	ControllerUnpublishVolumeResponse *response =
		new_controller_unpublish_volume_response(&call.arena);
	char id[] = "v";

	(void)state;
	assert_failed(controller_unpublish_volume(&call, request, response, &err),
		      ERR_INVALID_ARGUMENT, "volume_id");
	request->volume_id = id;
	assert_int_equal(controller_unpublish_volume(&call, request, response, &err), 0);
	scripted[1].silent = ERR_UNAVAILABLE;
	assert_failed(controller_unpublish_volume(&call, request, response, &err), ERR_UNAVAILABLE,
		      "unix:///b");
	add_dataset(&scripted[0], "v", GIB, "");
	assert_int_equal(controller_unpublish_volume(&call, request, response, &err), 0);
	assert_int_equal(scripted[0].unpublished, 1);
}

static void validate_confirms_what_the_volume_supports(void **state)
{
	ValidateVolumeCapabilitiesRequest *request =
		new_validate_volume_capabilities_request(&call.arena);
	ValidateVolumeCapabilitiesResponse *response =
		new_validate_volume_capabilities_response(&call.arena);
	VolumeCapability *list[] = {capability()};
	char id[] = "v";

	(void)state;
	request->volume_id = id;
	assert_failed(validate_volume_capabilities(&call, request, response, &err),
		      ERR_INVALID_ARGUMENT, "volume_capabilities");
	request->n_volume_capabilities = 1;
	request->volume_capabilities = list;
	assert_failed(validate_volume_capabilities(&call, request, response, &err), ERR_NOT_FOUND,
		      "volume 'v'");
	add_dataset(&scripted[0], "v", GIB, "");
	assert_int_equal(validate_volume_capabilities(&call, request, response, &err), 0);
	assert_non_null(response->confirmed);
	assert_ptr_equal(response->confirmed->volume_capabilities[0], list[0]);
	list[0]->access_mode->mode = VOLUME_CAPABILITY_ACCESS_MODE_MODE_MULTI_NODE_MULTI_WRITER;
	response = new_validate_volume_capabilities_response(&call.arena);
	assert_int_equal(validate_volume_capabilities(&call, request, response, &err), 0);
	assert_null(response->confirmed);
	assert_non_null(strstr(response->message, "MULTI_NODE_MULTI_WRITER"));
}

static void assert_looked(unsigned a, unsigned b, unsigned c)
{
	assert_int_equal(scripted[0].looked, a);
	assert_int_equal(scripted[1].looked, b);
	assert_int_equal(scripted[2].looked, c);
}

static int get_volume(const char *id)
{
	ControllerGetVolumeRequest *request = new_controller_get_volume_request(&call.arena);

	request->volume_id = arena_strdup(&call.arena, id);
	return controller_get_volume(&call, request,
				     new_controller_get_volume_response(&call.arena), &err);
}

static void the_cached_owner_is_asked_first(void **state)
{
	DeleteVolumeRequest *request = new_delete_volume_request(&call.arena);

	(void)state;
	add_dataset(&scripted[1], "v", GIB, "");
	assert_int_equal(get_volume("v"), 0);
	assert_looked(1, 1, 1);
	assert_int_equal(get_volume("v"), 0);
	assert_looked(1, 2, 1);
	/* The cached owner is only a hint: if the volume is not there, all agents are asked. */
	scripted[1].n_datasets = 0;
	add_dataset(&scripted[2], "v", GIB, "");
	assert_int_equal(get_volume("v"), 0);
	assert_looked(2, 4, 2);
	/* A wrong cached owner is replaced by the agent that has the volume. */
	assert_int_equal(get_volume("v"), 0);
	assert_looked(2, 4, 3);
	scripted[2].lookup = ERR_UNAVAILABLE;
	assert_failed(get_volume("v"), ERR_UNAVAILABLE, "unix:///c");
	scripted[2].lookup = ERR_OK;
	/* Deletion looks the volume up on every agent, because two of them may have it. */
	add_dataset(&scripted[0], "v", GIB, "");
	request->volume_id = arena_strdup(&call.arena, "v");
	assert_failed(delete_volume(&call, request, new_delete_volume_response(&call.arena), &err),
		      ERR_FAILED_PRECONDITION, "twice");
	assert_int_equal(scripted[0].destroyed + scripted[2].destroyed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(an_exported_volume_is_created_in_any_topology),
		SCRIPTED_TEST(create_places_and_repeats),
		SCRIPTED_TEST(create_claims_above_every_promise),
		SCRIPTED_TEST(create_looks_again_after_it_lost_its_claim),
		SCRIPTED_TEST(the_cached_owner_is_asked_first),
		SCRIPTED_TEST(an_existing_volume_is_compared_with_the_request),
		SCRIPTED_TEST(create_needs_every_agent),
		SCRIPTED_TEST(a_host_without_a_pool_is_not_chosen),
		SCRIPTED_TEST(wrong_requests_are_refused),
		SCRIPTED_TEST(a_thick_volume_has_a_reservation),
		SCRIPTED_TEST(mutable_parameters_replace_parameters),
		SCRIPTED_TEST(delete_asks_every_agent),
		SCRIPTED_TEST(delete_needs_not_found_from_every_agent),
		SCRIPTED_TEST(an_agent_that_waited_until_the_deadline_is_not_unavailable),
		SCRIPTED_TEST(duplicates_are_not_deleted),
		SCRIPTED_TEST(only_another_node_makes_a_publish_wait),
		SCRIPTED_TEST(publish_checks_in_order),
		SCRIPTED_TEST(unpublish_asks_the_owner_and_may_repeat),
		SCRIPTED_TEST(validate_confirms_what_the_volume_supports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
