/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of maps: the keys are sorted and unique after reading, and protobuf can read what map_put()
 * writes.
 */
#include "tests/cmocka.h"

#include "common/volume/map.h"
#include "proto/csi.h"

static int setup(void **state)
{
	static struct arena arena;

	arena_init(&arena, SIZE_MAX);
	*state = &arena;
	return 0;
}

static int teardown(void **state)
{
	arena_fini(*state);
	return 0;
}

static void an_empty_map_has_no_pairs(void **state)
{
	CreateVolumeRequest *request = new_create_volume_request(*state);
	struct map map = map_of(*state, request, parameters);

	assert_int_equal(map.n, 0);
	assert_null(map_get(&map, "attach"));
	assert_int_equal(map_size(&map), 0);
}

static void pairs_are_sorted_and_found(void **state)
{
	CreateVolumeRequest *request = new_create_volume_request(*state);

	map_put(*state, request, parameters, "b", "2");
	map_put(*state, request, parameters, "c", "3");
	map_put(*state, request, parameters, "a", "1");
	map_put(*state, request, secrets, "a", "secret");
	struct map map = map_of(*state, request, parameters);
	assert_int_equal(map.n, 3);
	assert_string_equal(map.pairs[0].key, "a");
	assert_string_equal(map.pairs[2].key, "c");
	assert_string_equal(map_get(&map, "a"), "1");
	assert_string_equal(map_get(&map, "b"), "2");
	assert_null(map_get(&map, "d"));
	assert_int_equal(map_size(&map), 6);
}

static void last_of_equal_keys_wins(void **state)
{
	CreateVolumeRequest *request = new_create_volume_request(*state);

	map_put(*state, request, parameters, "a", "first");
	map_put(*state, request, parameters, "b", "2");
	map_put(*state, request, parameters, "a", "last");
	struct map map = map_of(*state, request, parameters);
	assert_int_equal(map.n, 2);
	assert_string_equal(map_get(&map, "a"), "last");
}

/* A map built by map_put() is a valid protobuf map: it is unchanged after it was packed and
 * unpacked. */
static void a_map_survives_packing(void **state)
{
	Topology *topology = new_topology(*state);
	uint8_t bytes[256];

	map_put(*state, topology, segments, "zcsi.zfs/node", "a");
	map_put(*state, topology, segments, "rack", "7");
	assert_string_equal(topology->segments[0]->key, "zcsi.zfs/node");
	assert_string_equal(topology->segments[1]->value, "7");
	size_t size = protobuf_c_message_get_packed_size(&topology->base);
	assert_true(size < sizeof(bytes));
	protobuf_c_message_pack(&topology->base, bytes);
	Topology *again = csi__v1__topology__unpack(NULL, size, bytes);
	assert_non_null(again);
	struct map map = map_of(*state, again, segments);
	assert_int_equal(map.n, 2);
	assert_string_equal(map_get(&map, "rack"), "7");
	csi__v1__topology__free_unpacked(again, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_empty_map_has_no_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(pairs_are_sorted_and_found, setup, teardown),
		cmocka_unit_test_setup_teardown(last_of_equal_keys_wins, setup, teardown),
		cmocka_unit_test_setup_teardown(a_map_survives_packing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
