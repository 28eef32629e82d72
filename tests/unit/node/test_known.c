/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of finding volumes of this host by their lineages, deleted ones too, of FindBase, and of
 * the search for a volume that is to be used. In place of ZFS there is the catalog alone.
 */
#include "node/owner/known.h"

#include <pthread.h>
#include <string.h>

#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/host/node.h"
#include "node/host/owner.h"
#include "node/service.h"
#include "tests/cmocka.h"

#define LINEAGE "00112233aabbccdd"
#define DELETED 500

static struct node node = {.id = "n2", .boot = "b-2"};
static struct rpc_call call;
static struct error err;
static const char *live; /* the id of the only volume that is not deleted */
static const char *owner;

static struct dataset *volume(const char *id, const char *name, const char *lineage)
{
	const struct dataset row = {.id = (char *)id,
				    .name = (char *)name,
				    .format = format_find(FORMAT_ZFS),
				    .owner = (char *)owner,
				    .members = arena_printf(&call.arena, "%s:60:n1,n2", lineage)};

	return dataset_copy(&call.arena, &row);
}

int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *at, const char *id,
		       struct dataset **ret, struct error *ret_err);
int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *at, const char *id,
		       struct dataset **ret, struct error *ret_err)
{
	(void)catalog, (void)deadline, (void)at;
	if (strcmp(id, live) != 0)
		return fail(ret_err, ERR_NOT_FOUND, "it does not exist");
	*ret = volume(id, "t/p/v", LINEAGE);
	return 0;
}

/* While a call waits here, the nodes with copies answer, and their answers are recorded. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	(void)changed, (void)until;
	pthread_mutex_unlock(lock);
	owners_answered(node.owners, NULL, 0);
	pthread_mutex_lock(lock);
	owner = "newer=n1:7";
	return 0;
}

int __wrap_history_read(struct arena *at, const char *dataset, struct history *ret,
			struct error *ret_err);
int __wrap_history_read(struct arena *at, const char *dataset, struct history *ret,
			struct error *ret_err)
{
	(void)dataset, (void)ret_err;
	assert_true(history_parse(at, arena_strdup(at, "t/p/v@_repl-1\t11\t1000\t0\n"), ret));
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	live = "";
	owner = "boot=b-1";
	arena_init(&call.arena, SIZE_MAX);
	node.catalog = catalog_new("t/p", 0);
	call.app = &node;
	call.deadline = NO_DEADLINE;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	return 0;
}

static int find_common(uint64_t *ret)
{
	uint64_t guids[] = {12, 11};
	const FindBaseRequest request = {.id = (char *)"v",
					 .lineage = (char *)LINEAGE,
					 .node_id = (char *)"n1",
					 .guids = guids,
					 .n_guids = COUNT(guids)};
	FindBaseResponse *response = new_find_base_response(&call.arena);
	int failed = find_base(&call, &request, response, &err);

	*ret = response->guid;
	return failed;
}

static void a_deleted_volume_is_known_by_its_lineage(void **state)
{
	(void)state;
	struct dataset *found;

	catalog_put(node.catalog, volume("v", "t/p/_trash/1", "8899aabbccddeeff"));
	catalog_put(node.catalog, volume("v", "t/p/_trash/2", LINEAGE));
	catalog_put(node.catalog, volume("w", "t/p/_trash/3", LINEAGE));
	assert_int_equal(known_volume(&call, "v", LINEAGE, &found, &err), 0);
	assert_string_equal(found->name, "t/p/_trash/2");
	assert_int_equal(known_volume(&call, "v", "0000000000000000", &found, &err), 0);
	assert_null(found);
}

/* A node with many copies asks for many volumes in one call, so a search needs little memory. */
static void volumes_that_are_not_known_take_little_memory(void **state)
{
	(void)state;
	struct dataset *found;

	for (int i = 0; i < DELETED; i++) {
		const char *id = arena_printf(&call.arena, "v%d", i);
		const char *name = arena_printf(&call.arena, "t/p/_trash/%d", i);
		catalog_put(node.catalog, volume(id, name, LINEAGE));
	}
	arena_fini(&call.arena);
	arena_init(&call.arena, SIZE_MAX);
	for (int i = 0; i < DELETED; i++) {
		char id[16];
		snprintf(id, sizeof(id), "w%d", i);
		assert_int_equal(known_volume(&call, id, LINEAGE, &found, &err), 0);
		assert_null(found);
	}
	assert_true(call.arena.used < 100000);
}

/*
 * After a boot, members confirm the owner of a volume before it is used, but not of a deleted one.
 */
static void a_deleted_volume_needs_no_confirmation(void **state)
{
	(void)state;
	uint64_t base;

	catalog_put(node.catalog, volume("v", "t/p/_trash/1", LINEAGE));
	assert_int_equal(find_common(&base), 0);
	assert_true(base == 11);
	live = "v";
	assert_int_equal(find_common(&base), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "was booted"));
}

static void a_volume_is_read_again_after_a_wait(void **state)
{
	(void)state;
	struct dataset *found;
	uint64_t base;

	live = "v";
	for (int i = 0; i < 2; i++) {
		node.owners = owners_new();
		owner = "boot=b-2";
		assert_int_equal(i ? node_find(&call, "v", &found, &err) : find_common(&base), -1);
		assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
		assert_non_null(strstr(err.text, "node 'n1' took volume 'v' over"));
		owners_free(node.owners);
		node.owners = NULL;
	}
}

/*
 * The volume was taken over, and its former owner n1 was declared lost. Before n1 makes its volume
 * a copy, which may be taken over in turn, this host has to wait for its answer after each boot.
 */
static void a_node_makes_way_only_where_it_counts(void **state)
{
	uint64_t base;

	(void)state;
	live = "v";
	owner = "boot=b-2,lost=n1,lost=n3";
	assert_int_equal(find_common(&base), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'n1' was declared lost"));
	owner = "boot=b-2,lost=n3";
	assert_int_equal(find_common(&base), 0);
	assert_true(base == 11);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_deleted_volume_is_known_by_its_lineage),
		TEST(volumes_that_are_not_known_take_little_memory),
		TEST(a_deleted_volume_needs_no_confirmation),
		TEST(a_volume_is_read_again_after_a_wait),
		TEST(a_node_makes_way_only_where_it_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
