/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of host volumes with copies: the nodes that zcsi-node is asked for, and refusals. */
/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_agents.c"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_agents.c */
#include "tests/unit/controller/scripted_cli.c"

#include "common/clock.h"
#include "controller/host_volume/host_volume.h"

#define ID "02eb1d8e-945e-50ee-7640-68b92f622870"

static unsigned mounted;
static const char *parameters;

/* Replaces the mount of a volume, since the agents in memory mount nothing. */
int __wrap_mount_run(struct local *local, const char *volume, const char *path, struct error *why);
int __wrap_mount_run(struct local *local, const char *volume, const char *path, struct error *why)
{
	(void)local;
	(void)why;
	assert_string_equal(volume, "cache-02eb1d8e");
	assert_string_equal(path, "/tmp/" ID);
	mounted++;
	return 0;
}

static char *get(const char *name)
{
	static const char *const values[][2] = {
		{"DHV_VOLUMES_DIR", "/tmp"}, {"DHV_VOLUME_ID", ID}, {"DHV_VOLUME_NAME", "cache"}};

	if (strcmp(name, "DHV_PARAMETERS") == 0)
		return arena_strdup(&cli.arena, parameters);
	for (size_t i = 0; i < COUNT(values); i++)
		if (strcmp(name, values[i][0]) == 0)
			return arena_strdup(&cli.arena, values[i][1]);
	return NULL;
}

/* Run create on the host a with parameters in JSON. */
static int create(const char *json)
{
	struct local local = {
		.arena = &cli.arena, .fleet = cli.fleet, .deadline = now_ms() + 10000};
	struct request request;
	int64_t size;

	parameters = json;
	mounted = 0;
	if (request_parse(&cli.arena, CREATE, get, &request, &err) < 0)
		return -1;
	return create_run(&local, &request, &size, &err);
}

static void the_members_are_asked_for_this_node_first(void **state)
{
	(void)state;
	assert_int_equal(create("{\"members\": \"c,a,b\", \"bandwidth\": \"1M\"}"), 0);
	const CreateDatasetRequest *asked = scripted[0].create_request;
	assert_int_equal(asked->n_members, 3);
	assert_string_equal(asked->members[0], "a");
	assert_string_equal(asked->members[1], "c");
	assert_string_equal(asked->members[2], "b");
	assert_int_equal(asked->sync_every, 300);
	assert_int_equal(asked->bandwidth, 1 << 20);
	assert_int_equal(mounted, 1);
}

static void a_volume_without_copies_asks_for_no_members(void **state)
{
	(void)state;
	assert_int_equal(create("{\"members\": \"a\"}"), 0);
	assert_int_equal(scripted[0].create_request->n_members, 0);
	assert_int_equal(create("{\"members\": \"a\"}"), 0);
	assert_int_equal(scripted[0].created, 1);
	assert_int_equal(mounted, 1);
}

static void wrong_members_make_nothing(void **state)
{
	static const char *const texts[] = {
		"{\"members\": \"b\"}",
		"{\"members\": \"b,c\"}",
		"{\"members\": \"a,b,c\", \"replicas\": \"2\"}",
		"{\"members\": \"a,b\", \"replicas\": \"3\"}",
		"{\"members\": \"a,b,b\", \"replicas\": \"2\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_failed(create(texts[i]), ERR_INVALID_ARGUMENT, "members");
	assert_failed(create("{\"replicas\": \"2\"}"), ERR_INVALID_ARGUMENT, "give members");
	assert_int_equal(scripted[0].created + mounted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLI_TEST(the_members_are_asked_for_this_node_first),
		CLI_TEST(a_volume_without_copies_asks_for_no_members),
		CLI_TEST(wrong_members_make_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
