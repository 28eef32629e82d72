/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of DestroyDatasetSnapshot: a snapshot counts as deleted only if it is under none of its
 * names. The pool is one snapshot, and the catalog may have it under an earlier name.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/agent/agent.h"
#include "node/agent/origin.h"
#include "node/catalog/change.h"
#include "node/service.h"
#include "node/zfs/zfs.h"

#define FORMER "t/p/_trash/old-v-7@one"
#define OWN    "t/p/v@one"

static struct node node = {.id = "n1"};
static struct rpc_call call = {.app = &node, .deadline = NO_DEADLINE};
static struct dataset volume = {.id = (char *)"v", .name = (char *)"t/p/v"};
static const char *real, *known; /* name in the pool, and in the catalog; or NULL */
static struct error err;

typeof(node_find) __wrap_node_find;
typeof(catalog_snapshot) __wrap_catalog_snapshot;
typeof(catalog_drop) __wrap_catalog_drop;
typeof(agent_reread) __wrap_agent_reread;
typeof(zfs_destroy_snapshot_proven) __wrap_zfs_destroy_snapshot_proven;
typeof(zfs_destroy_snapshot) __wrap_zfs_destroy_snapshot;

static bool exists(const char *name)
{
	return real && strcmp(name, real) == 0;
}

int __wrap_node_find(struct rpc_call *with, const char *id, struct dataset **ret,
		     struct error *ret_err)
{
	(void)with, (void)ret_err;
	assert_string_equal(id, "v");
	*ret = &volume;
	return 0;
}

int __wrap_catalog_snapshot(struct catalog *catalog, int64_t deadline, struct arena *arena,
			    const char *id, struct snapshot **ret, struct error *ret_err)
{
	(void)catalog, (void)deadline;
	assert_string_equal(id, "v@one");
	if (!known)
		return fail(ret_err, ERR_NOT_FOUND, "it does not exist");
	*ret = arena_alloc(arena, sizeof(**ret));
	**ret = (struct snapshot){.id = (char *)"v@one",
				  .name = (char *)"one",
				  .dataset_id = (char *)"v",
				  .zfs_name = (char *)known};
	return 0;
}

void __wrap_catalog_drop(struct catalog *catalog, const char *zfs_name)
{
	(void)catalog;
	if (known && strcmp(known, zfs_name) == 0)
		known = NULL;
}

int __wrap_agent_reread(struct rpc_call *with, const char *zfs_name, struct error *ret_err)
{
	(void)ret_err;
	if (exists(zfs_name))
		known = real;
	else
		catalog_drop(((const struct node *)with->app)->catalog, zfs_name);
	return 0;
}

bool __wrap_zfs_destroy_snapshot_proven(struct arena *arena, const struct snapshot *snapshot)
{
	bool proven = exists(snapshot->zfs_name);

	(void)arena;
	if (proven)
		real = NULL;
	return proven;
}

int __wrap_zfs_destroy_snapshot(const char *name, struct error *ret_err)
{
	(void)name;
	return fail(ret_err, ERR_NOT_FOUND, "it does not exist");
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&call.arena, SIZE_MAX);
	node.catalog = catalog_new("t/p", 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	return 0;
}

static int remove_it(void)
{
	const DestroyDatasetSnapshotRequest request = {.id = (char *)"v@one"};

	return destroy_dataset_snapshot(&call, &request,
					new_destroy_dataset_snapshot_response(&call.arena), &err);
}

/*
 * The catalog has the name from the middle of a rollback, whose end gave the snapshot back to the
 * volume.
 */
static void a_snapshot_with_another_name_is_not_deleted(void **state)
{
	(void)state;
	known = FORMER;
	real = OWN;
	assert_int_equal(remove_it(), -1);
	assert_int_equal(err.code, ERR_ABORTED);
	assert_non_null(strstr(err.text, "it was renamed meanwhile"));
	assert_string_equal(real, OWN);
	assert_int_equal(remove_it(), 0);
	assert_null(real);
	assert_null(known);
}

static void a_snapshot_that_is_nowhere_is_deleted(void **state)
{
	(void)state;
	real = NULL;
	known = FORMER;
	assert_int_equal(remove_it(), 0);
	assert_null(known);
	known = OWN;
	assert_int_equal(remove_it(), 0);
	assert_int_equal(remove_it(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_snapshot_with_another_name_is_not_deleted),
		TEST(a_snapshot_that_is_nowhere_is_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
