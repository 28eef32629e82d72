/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of placement: topology, free space, equal hosts, and the error text if no host fits.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "common/volume/map.h"
#include "controller/placement.h"

#define NODE "zcsi.zfs/node"

static struct arena arena;
static struct host list[8];
static struct hosts hosts;
static const struct where anywhere;
static const char *node_pin, *pool_pin;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, SIZE_MAX);
	hosts = (struct hosts){.list = list};
	node_pin = pool_pin = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

static Segment *segment(const char *key, const char *value)
{
	Segment *message = new_segment(&arena);

	message->key = arena_strdup(&arena, key);
	message->value = arena_strdup(&arena, value);
	return message;
}

static GetHostResponse *add_host(const char *node, const char *rack, int64_t available)
{
	GetHostResponse *says = new_get_host_response(&arena);

	says->node_id = arena_strdup(&arena, node);
	says->dataset = arena_printf(&arena, "pool-%s/csi", node);
	says->available = available;
	says->n_topology = 2;
	says->topology = arena_alloc(&arena, 2 * sizeof(*says->topology));
	says->topology[0] = segment(NODE, node);
	says->topology[1] = segment("rack", rack);
	hosts.list[hosts.n++] = (struct host){.says = says};
	return says;
}

static Topology *topology(const char *key, const char *value)
{
	Topology *message = new_topology(&arena);

	map_put(&arena, message, segments, key, value);
	return message;
}

static Topology **pair(Topology *a, Topology *b)
{
	Topology **both = arena_alloc(&arena, 2 * sizeof(*both));

	both[0] = a;
	both[1] = b;
	return both;
}

/* Returns the id of the chosen node, or NULL with *err if there is none. */
static const char *chosen(const TopologyRequirement *requirement, struct error *err)
{
	const struct where where = {.topology = requirement, .node = node_pin, .pool = pool_pin};
	const struct host *host;

	if (placement_choose(&arena, &hosts, "volume", &where, &host, err) < 0)
		return NULL;
	return host->says->node_id;
}

static void the_pool_with_the_most_space_is_chosen(void **state)
{
	TopologyRequirement *empty = new_topology_requirement(&arena);
	struct error err;

	(void)state;
	add_host("a", "1", 10);
	add_host("b", "1", 30);
	add_host("c", "2", 20);
	assert_string_equal(chosen(NULL, &err), "b");
	/* Nomad sends an empty message if no topology is required. */
	assert_string_equal(chosen(empty, &err), "b");
}

static void node_and_pool_pin_the_host(void **state)
{
	TopologyRequirement *requirement = new_topology_requirement(&arena);
	struct error err;

	(void)state;
	add_host("a", "1", 10);
	add_host("b", "1", 30);
	add_host("c", "2", 20);
	node_pin = "a";
	assert_string_equal(chosen(NULL, &err), "a");
	pool_pin = "pool-c";
	assert_null(chosen(NULL, &err));
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(err.text, "on node 'a' in pool 'pool-c'"));
	node_pin = NULL;
	assert_string_equal(chosen(NULL, &err), "c");
	/* The pin must be the whole name of the pool: neither a prefix of it nor the dataset below
	 * it matches. */
	pool_pin = "pool";
	assert_null(chosen(NULL, &err));
	pool_pin = "pool-c/csi";
	assert_null(chosen(NULL, &err));
	/* A pinned pool must meet the topology as well. */
	pool_pin = "pool-c";
	requirement->n_requisite = 1;
	requirement->requisite = pair(topology("rack", "1"), NULL);
	assert_null(chosen(requirement, &err));
	assert_non_null(strstr(err.text, "rack=1"));
}

static void a_local_volume_needs_a_host_reached_directly(void **state)
{
	const struct where local = {.local = true};
	const struct host *host;
	struct error err;

	(void)state;
	add_host("a", "1", 30)->by_nfs = true;
	assert_int_equal(placement_choose(&arena, &hosts, "volume", &local, &host, &err), -1);
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(err.text, "with attach=nfs"));
	assert_string_equal(chosen(NULL, &err), "a");
	add_host("b", "1", 10);
	assert_int_equal(placement_choose(&arena, &hosts, "volume", &local, &host, &err), 0);
	assert_string_equal(host->says->node_id, "b");
}

static void an_exported_volume_needs_a_host_that_can_export(void **state)
{
	char fuse[] = "zfs-fuse cannot be exported", stopped[] = "no NFS server runs",
	     problem[] = "gone";
	const struct where nfs = {.exported = true};
	const struct host *host;
	struct error err;

	(void)state;
	add_host("a", "1", 30)->no_export = fuse;
	GetHostResponse *b = add_host("b", "1", 20);
	b->no_export = stopped;
	assert_int_equal(placement_choose(&arena, &hosts, "volume", &nfs, &host, &err), -1);
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(err.text, "'volume' for attach=nfs; node 'a': zfs-fuse cannot"));
	assert_non_null(strstr(err.text, "; node 'b': no NFS server runs"));
	assert_string_equal(chosen(NULL, &err), "a");
	/* Host c, whose pool has a problem now, may be able to export the volume later. */
	GetHostResponse *c = add_host("c", "1", 10);
	c->problem = problem;
	assert_int_equal(placement_choose(&arena, &hosts, "volume", &nfs, &host, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	c->problem = b->problem;
	assert_int_equal(placement_choose(&arena, &hosts, "volume", &nfs, &host, &err), 0);
	assert_string_equal(host->says->node_id, "c");
}

static void a_volume_goes_where_its_zfs_can_have_it(void **state)
{
	char fuse[] = "it has zfs-fuse";
	const struct where zvol = {.zvol = true}, encrypted = {.encrypted = true};
	const struct host *host;
	struct error err;

	(void)state;
	GetHostResponse *a = add_host("a", "1", 30);
	a->no_zvols = a->no_encryption = fuse;
	assert_int_equal(placement_choose(&arena, &hosts, "volume", &zvol, &host, &err), -1);
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(err.text, "can have volume 'volume'; node 'a': it has zfs-fuse"));
	assert_string_equal(chosen(NULL, &err), "a");
	add_host("b", "1", 10);
	assert_int_equal(placement_choose(&arena, &hosts, "volume", &zvol, &host, &err), 0);
	assert_string_equal(host->says->node_id, "b");
	assert_int_equal(placement_choose(&arena, &hosts, "volume", &encrypted, &host, &err), 0);
	assert_string_equal(host->says->node_id, "b");
}

static GetHostResponse *limit(GetHostResponse *host, const char *prefix, int64_t room)
{
	SizeLimit *size_limit = new_size_limit(&arena);

	size_limit->prefix = arena_strdup(&arena, prefix);
	size_limit->promised = 1000;
	size_limit->limit = 1000 + room;
	if (!host->n_size_limits)
		host->size_limits = arena_alloc(&arena, 2 * sizeof(*host->size_limits));
	host->size_limits[host->n_size_limits++] = size_limit;
	return host;
}

static const char *chosen_for(const char *name, int64_t size)
{
	TopologyRequirement *requirement = new_topology_requirement(&arena);
	const struct where where = {.topology = requirement, .size = size};
	const struct host *host;
	struct error err;

	requirement->n_preferred = 1;
	requirement->preferred = pair(topology(NODE, "a"), NULL);
	assert_int_equal(placement_choose(&arena, &hosts, name, &where, &host, &err), 0);
	return host->says->node_id;
}

/* The size limits of a host matter more than preferences and space. If no host allows the size, one
 * is chosen nevertheless, and its agent refuses the volume. */
static void a_host_whose_limits_leave_no_room_is_avoided(void **state)
{
	(void)state;
	limit(limit(add_host("a", "1", 30), "", 100), "prod-", 10);
	limit(add_host("b", "1", 20), "", 50);
	assert_string_equal(chosen_for("volume", 100), "a");
	assert_string_equal(chosen_for("prod-a", 10), "a");
	assert_string_equal(chosen_for("prod-a", 11), "b");
	assert_string_equal(chosen_for("volume", 101), "a");
	add_host("c", "1", 10);
	assert_string_equal(chosen_for("volume", 101), "c");
	assert_string_equal(chosen_for("prod-a", 51), "c");
}

static void the_requisite_topology_is_required(void **state)
{
	TopologyRequirement *requirement = new_topology_requirement(&arena);
	struct error err;

	(void)state;
	add_host("a", "1", 10);
	add_host("b", "1", 30);
	add_host("c", "2", 20);
	requirement->n_requisite = 1;
	requirement->requisite = pair(topology("rack", "2"), topology(NODE, "a"));
	assert_string_equal(chosen(requirement, &err), "c");
	requirement->requisite[0] = topology("RACK", "2");
	assert_string_equal(chosen(requirement, &err), "c");
	/* A host has to match any one topology of the list. */
	requirement->n_requisite = 2;
	assert_string_equal(chosen(requirement, &err), "c");
	/* A host has to match all segments of a topology. */
	requirement->n_requisite = 1;
	requirement->requisite[0] = topology("rack", "1");
	map_put(&arena, requirement->requisite[0], segments, NODE, "a");
	assert_string_equal(chosen(requirement, &err), "a");
	/* A topology without segments matches every host. */
	requirement->requisite[0] = new_topology(&arena);
	assert_string_equal(chosen(requirement, &err), "b");
}

static void preferred_topologies_are_taken_in_order(void **state)
{
	TopologyRequirement *requirement = new_topology_requirement(&arena);
	struct error err;

	(void)state;
	add_host("a", "1", 10);
	add_host("b", "1", 30);
	add_host("c", "2", 20);
	requirement->n_preferred = 2;
	requirement->preferred = pair(topology(NODE, "a"), topology(NODE, "c"));
	assert_string_equal(chosen(requirement, &err), "a");
	/* If a preferred host does not exist, the next preferred one is used, or any other one,
	 * since there is no requisite. */
	requirement->preferred = pair(topology(NODE, "x"), topology(NODE, "c"));
	assert_string_equal(chosen(requirement, &err), "c");
	requirement->n_preferred = 1;
	assert_string_equal(chosen(requirement, &err), "b");
	/* A requisite topology matters more than a preferred one. */
	requirement->preferred[0] = topology(NODE, "a");
	requirement->n_requisite = 1;
	requirement->requisite = pair(topology("rack", "2"), NULL);
	assert_string_equal(chosen(requirement, &err), "c");
}

static void no_matching_host_is_an_error(void **state)
{
	TopologyRequirement *requirement = new_topology_requirement(&arena);
	struct error err;

	(void)state;
	add_host("a", "1", 10);
	requirement->n_requisite = 1;
	requirement->requisite = pair(topology("rack", "9"), NULL);
	assert_null(chosen(requirement, &err));
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(err.text, "rack=9"));
	assert_non_null(strstr(err.text, "rack=1"));
	assert_non_null(strstr(err.text, "pool-a/csi"));
	hosts.n = 0;
	assert_null(chosen(NULL, &err));
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
}

static void hosts_without_a_usable_pool_are_left_out(void **state)
{
	char none[] = "", problem[] = "pool 'pool-b' is not imported: zpool import pool-b";
	struct error err;

	(void)state;
	add_host("a", "1", 100)->dataset = none;
	add_host("b", "1", 50)->problem = problem;
	assert_null(chosen(NULL, &err));
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, problem));
	add_host("c", "1", 1);
	assert_string_equal(chosen(NULL, &err), "c");
}

/* Equal hosts get about the same number of volumes, and the host of a name does not depend on the
 * order of the list. */
static void equal_hosts_are_chosen_by_name(void **state)
{
	unsigned count[3] = {0};
	const struct host *host, *again;
	struct error err;

	(void)state;
	add_host("a", "1", 10);
	add_host("b", "1", 10);
	add_host("c", "1", 10);
	struct host reversed[] = {list[2], list[1], list[0]};
	const struct hosts mirror = {.list = reversed, .n = 3};
	for (unsigned i = 0; i < 300; i++) {
		const char *name = arena_printf(&arena, "volume-%u", i);
		assert_int_equal(placement_choose(&arena, &hosts, name, &anywhere, &host, &err), 0);
		assert_int_equal(placement_choose(&arena, &mirror, name, &anywhere, &again, &err),
				 0);
		assert_ptr_equal(host->says, again->says);
		count[host - list]++;
	}
	for (size_t i = 0; i < COUNT(count); i++)
		assert_in_range(count[i], 60, 140);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_pool_with_the_most_space_is_chosen, setup,
						teardown),
		cmocka_unit_test_setup_teardown(node_and_pool_pin_the_host, setup, teardown),
		cmocka_unit_test_setup_teardown(a_local_volume_needs_a_host_reached_directly, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_exported_volume_needs_a_host_that_can_export,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_volume_goes_where_its_zfs_can_have_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_host_whose_limits_leave_no_room_is_avoided, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_requisite_topology_is_required, setup,
						teardown),
		cmocka_unit_test_setup_teardown(preferred_topologies_are_taken_in_order, setup,
						teardown),
		cmocka_unit_test_setup_teardown(no_matching_host_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(hosts_without_a_usable_pool_are_left_out, setup,
						teardown),
		cmocka_unit_test_setup_teardown(equal_hosts_are_chosen_by_name, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
