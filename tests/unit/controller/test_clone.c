/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of CreateVolume with a content source: the agent that is chosen, the size, and the answer
 * to a repeated request.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

#define GIB ((int64_t)1 << 30)

static struct error err;

static CreateVolumeRequest *create_request(const char *name, int64_t size)
{
	CreateVolumeRequest *request = new_create_volume_request(&call.arena);
	VolumeCapability *capability = new_volume_capability(&call.arena);

	capability->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT;
	capability->mount = new_volume_capability_mount_volume(&call.arena);
	capability->access_mode = new_volume_capability_access_mode(&call.arena);
	capability->access_mode->mode = VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER;
	request->name = arena_strdup(&call.arena, name);
	request->n_volume_capabilities = 1;
	request->volume_capabilities = arena_alloc(&call.arena, sizeof(VolumeCapability *));
	request->volume_capabilities[0] = capability;
	request->capacity_range = new_capacity_range(&call.arena);
	request->capacity_range->required_bytes = size;
	request->volume_content_source = new_volume_content_source(&call.arena);
	return request;
}

static CreateVolumeRequest *of_snapshot(const char *id, int64_t size)
{
	CreateVolumeRequest *request = create_request("clone", size);
	VolumeContentSource *source = request->volume_content_source;

	source->type_case = VOLUME_CONTENT_SOURCE_TYPE_SNAPSHOT;
	source->snapshot = new_volume_content_source_snapshot_source(&call.arena);
	source->snapshot->snapshot_id = arena_strdup(&call.arena, id);
	return request;
}

static CreateVolumeRequest *of_volume(const char *id, int64_t size)
{
	CreateVolumeRequest *request = create_request("clone", size);
	VolumeContentSource *source = request->volume_content_source;

	source->type_case = VOLUME_CONTENT_SOURCE_TYPE_VOLUME;
	source->volume = new_volume_content_source_volume_source(&call.arena);
	source->volume->volume_id = arena_strdup(&call.arena, id);
	return request;
}

static int create(const CreateVolumeRequest *request, Volume **ret)
{
	CreateVolumeResponse *response = new_create_volume_response(&call.arena);
	int result = create_volume(&call, request, response, &err);

	*ret = response->volume;
	return result;
}

static unsigned created(void)
{
	return scripted[0].created + scripted[1].created + scripted[2].created;
}

/* Add a volume and a snapshot on agent a, which placement would not choose because b has more
 * space. */
static void add_source(void)
{
	add_snapshot(&scripted[0], add_dataset(&scripted[0], "v", 2 * GIB, ""), "s");
}

static void a_snapshot_is_cloned_on_its_agent(void **state)
{
	Volume *volume;

	(void)state;
	add_source();
	assert_int_equal(create(of_snapshot("v@s", 0), &volume), 0);
	assert_int_equal(scripted[0].created, 1);
	assert_string_equal(scripted[0].create_request->source_snapshot, "v@s");
	assert_string_equal(scripted[0].create_request->source_dataset, "");
	assert_int_equal(volume->capacity_bytes, 2 * GIB);
	assert_string_equal(volume->content_source->snapshot->snapshot_id, "v@s");
	/* A repeated request succeeds even if the source is deleted. */
	scripted[0].n_snapshots = 0;
	assert_int_equal(create(of_snapshot("v@s", 0), &volume), 0);
	assert_string_equal(volume->content_source->snapshot->snapshot_id, "v@s");
	assert_int_equal(created(), 1);
}

static void a_volume_is_cloned_on_its_agent(void **state)
{
	Volume *volume;

	(void)state;
	add_source();
	assert_int_equal(create(of_volume("v", 3 * GIB), &volume), 0);
	assert_string_equal(scripted[0].create_request->source_snapshot, "");
	assert_string_equal(scripted[0].create_request->source_dataset, "v");
	assert_int_equal(volume->capacity_bytes, 3 * GIB);
	assert_string_equal(volume->content_source->volume->volume_id, "v");
	assert_int_equal(create(of_volume("v", 3 * GIB), &volume), 0);
	assert_int_equal(created(), 1);
}

static void another_source_is_another_volume(void **state)
{
	CreateVolumeRequest *empty = create_request("clone", 0);
	Volume *volume;

	(void)state;
	add_source();
	empty->volume_content_source = NULL;
	assert_int_equal(create(of_volume("v", 0), &volume), 0);
	assert_failed(create(of_snapshot("v@s", 0), &volume), ERR_ALREADY_EXISTS,
		      "volume_content_source is volume 'v'; the request asks for snapshot 'v@s'");
	assert_failed(create(empty, &volume), ERR_ALREADY_EXISTS, "the request asks for none");
	add_dataset(&scripted[2], "w", GIB, "attach=local\n");
	empty = of_volume("v", 0);
	empty->name = arena_strdup(&call.arena, "w");
	assert_failed(create(empty, &volume), ERR_ALREADY_EXISTS, "volume_content_source is none");
}

static void bad_sources_are_refused(void **state)
{
	Volume *volume;

	(void)state;
	add_source();
	assert_failed(create(create_request("clone", 0), &volume), ERR_INVALID_ARGUMENT,
		      "volume_content_source");
	assert_failed(create(of_snapshot("", 0), &volume), ERR_INVALID_ARGUMENT, "snapshot_id");
	assert_failed(create(of_volume("", 0), &volume), ERR_INVALID_ARGUMENT, "volume_id");
	assert_failed(create(of_snapshot("none", 0), &volume), ERR_NOT_FOUND, "snapshot 'none'");
	assert_failed(create(of_volume("none", 0), &volume), ERR_NOT_FOUND, "volume 'none'");
	assert_failed(create(of_volume("v", GIB), &volume), ERR_OUT_OF_RANGE, "required_bytes");
	scripted[2].silent = ERR_UNAVAILABLE;
	assert_failed(create(of_snapshot("none", 0), &volume), ERR_UNAVAILABLE, "unix:///c");
	assert_int_equal(created(), 0);
}

static void a_host_that_cannot_export_takes_no_exported_clone(void **state)
{
	CreateVolumeRequest *request;
	Volume *volume;

	(void)state;
	add_source();
	scripted[0].no_export = "no NFS server runs";
	request = of_volume("v", 0);
	map_put(&call.arena, request, parameters, "attach", "nfs");
	assert_failed(create(request, &volume), ERR_RESOURCE_EXHAUSTED,
		      "node 'a', where its source is and where attach=nfs is impossible: no NFS");
	assert_int_equal(created(), 0);
	scripted[0].no_export = NULL;
	assert_int_equal(create(request, &volume), 0);
	/* A repeated request returns the existing volume, even if its host can no longer export by
	 * NFS. */
	scripted[0].no_export = "no NFS server runs";
	assert_int_equal(create(request, &volume), 0);
	assert_int_equal(created(), 1);
}

static void topology_cannot_move_a_clone_off_its_source(void **state)
{
	CreateVolumeRequest *request;
	TopologyRequirement *requirement = new_topology_requirement(&call.arena);
	Topology *topology = new_topology(&call.arena);
	Volume *volume;

	(void)state;
	add_source();
	request = of_volume("v", 0);
	request->accessibility_requirements = requirement;
	requirement->n_requisite = 1;
	requirement->requisite = &topology;
	map_put(&call.arena, topology, segments, "rack", "2");
	assert_failed(create(request, &volume), ERR_RESOURCE_EXHAUSTED, "node 'a'");
	assert_int_equal(created(), 0);
	topology->n_segments = 0;
	map_put(&call.arena, topology, segments, "rack", "1");
	assert_int_equal(create(request, &volume), 0);
	assert_int_equal(scripted[0].created, 1);
}

static void the_backup_of_a_clone_is_not_with_its_source(void **state)
{
	CreateVolumeRequest *request;
	Volume *volume;

	(void)state;
	add_source();
	request = of_snapshot("v@s", 0);
	map_put(&call.arena, request, parameters, "backup", "a");
	assert_failed(create(request, &volume), ERR_INVALID_ARGUMENT, "belongs on another one");
	assert_int_equal(created(), 0);
	request = of_snapshot("v@s", 0);
	map_put(&call.arena, request, parameters, "backup", "c");
	assert_int_equal(create(request, &volume), 0);
	assert_string_equal(scripted[2].backup_request->id, "clone");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCRIPTED_TEST(a_snapshot_is_cloned_on_its_agent),
		SCRIPTED_TEST(a_volume_is_cloned_on_its_agent),
		SCRIPTED_TEST(another_source_is_another_volume),
		SCRIPTED_TEST(bad_sources_are_refused),
		SCRIPTED_TEST(a_host_that_cannot_export_takes_no_exported_clone),
		SCRIPTED_TEST(topology_cannot_move_a_clone_off_its_source),
		SCRIPTED_TEST(the_backup_of_a_clone_is_not_with_its_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
