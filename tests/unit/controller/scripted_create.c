/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Creating and changing the volume v with parameters. A test program includes this file after
 * scripted_agents.c.
 */
#include "tests/unit/controller/scripted_agents.h"

static CreateVolumeResponse created;
static const char *rack; /* rack in which the volume is to be usable; NULL: any */

/* Create a volume with up to two parameters; key2: NULL for one. */
static int create(const char *key, const char *value, const char *key2, const char *value2,
		  struct error *err)
{
	CreateVolumeRequest *request = new_create_volume_request(&call.arena);

	request->name = arena_strdup(&call.arena, "v");
	request->n_volume_capabilities = 1;
	request->volume_capabilities = arena_alloc(&call.arena, sizeof(VolumeCapability *));
	VolumeCapability *capability = request->volume_capabilities[0] =
		new_volume_capability(&call.arena);
	capability->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT;
	capability->mount = new_volume_capability_mount_volume(&call.arena);
	capability->access_mode = new_volume_capability_access_mode(&call.arena);
	capability->access_mode->mode = VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER;
	map_put(&call.arena, request, parameters, key, value);
	if (key2)
		map_put(&call.arena, request, parameters, key2, value2);
	if (rack) {
		Topology *topology = new_topology(&call.arena);
		map_put(&call.arena, topology, segments, "rack", rack);
		request->accessibility_requirements = new_topology_requirement(&call.arena);
		request->accessibility_requirements->n_requisite = 1;
		request->accessibility_requirements->requisite =
			arena_alloc(&call.arena, sizeof(topology));
		request->accessibility_requirements->requisite[0] = topology;
	}
	return create_volume(&call, request, &created, err);
}

/* Change the volume v with up to two parameters; key2: NULL for one. */
static int modify(const char *key, const char *value, const char *key2, const char *value2,
		  struct error *err)
{
	ControllerModifyVolumeRequest *request = new_controller_modify_volume_request(&call.arena);

	request->volume_id = arena_strdup(&call.arena, "v");
	map_put(&call.arena, request, mutable_parameters, key, value);
	if (key2)
		map_put(&call.arena, request, mutable_parameters, key2, value2);
	return controller_modify_volume(&call, request,
					new_controller_modify_volume_response(&call.arena), err);
}

/* Assert the last modification that was requested of agent b: the number of replicas, the candidate
 * nodes separated by ',', and sync_every. */
static void assert_candidates(int32_t replicas, const char *expected, int64_t every)
{
	const ModifyDatasetRequest *request = scripted[1].modify_request;
	char *candidates = arena_strdup(&call.arena, "");

	assert_int_equal(request->replicas, replicas);
	assert_int_equal(request->sync_every, every);
	for (size_t i = 0; i < request->n_candidates; i++)
		candidates = arena_printf(&call.arena, "%s%s%s", candidates, i ? "," : "",
					  request->candidates[i]);
	assert_string_equal(candidates, expected);
}
