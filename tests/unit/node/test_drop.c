/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of DropCopy, where the copy or the node has another owner since, or receives a stream. In
 * place of ZFS there are the epochs that a test sets.
 */
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "node/catalog/catalog.h"
#include "node/catalog/change.h"
#include "node/host/node.h"
#include "node/replica/replica.h"
#include "node/service.h"
#include "node/zfs/zfs.h"
#include "node/zfs/zfs_read.h"
#include "node/zfs/zfs_run.h"
#include "tests/cmocka.h"
#include "transport/tls_names.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define LINEAGE "00112233aabbccdd"

static struct node node = {.id = "n2"};
static struct rpc_call call;
static struct error err;
static int64_t copy_epoch, volume_epoch; /* -1: there is no copy, or no volume */
static bool destroyed;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *ret_err);
int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *ret_err)
{
	assert_string_equal(exec->argv[1], "get");
	if (copy_epoch < 0)
		return fail(ret_err, ERR_NOT_FOUND, "it does not exist");
	const char *lines = arena_printf(&call.arena,
					 "t/p/_replica/v\tzcsi:members\t" LINEAGE ":300:n1,n2\n"
					 "t/p/_replica/v\tzcsi:epoch\t%" PRId64 "\n",
					 copy_epoch);
	*ret_out = mem_strdup(zfs_table_output(&call.arena, zfs_table_asked(exec->argv), lines));
	return 0;
}

int __wrap_zfs_is_missing(const char *parent, struct error *ret_err);
int __wrap_zfs_is_missing(const char *parent, struct error *ret_err)
{
	(void)parent, (void)ret_err;
	return 0;
}

int __wrap_zfs_destroy(const char *name, struct error *ret_err);
int __wrap_zfs_destroy(const char *name, struct error *ret_err)
{
	(void)ret_err;
	assert_string_equal(name, "t/p/_replica/v");
	destroyed = true;
	return 0;
}

int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *arena,
		       const char *id, struct dataset **ret, struct error *ret_err);
int __wrap_catalog_get(struct catalog *catalog, int64_t deadline, struct arena *arena,
		       const char *id, struct dataset **ret, struct error *ret_err)
{
	(void)catalog, (void)deadline;
	const struct dataset volume = {.id = (char *)id,
				       .name = (char *)"t/p/v",
				       .format = format_find(FORMAT_ZFS),
				       .epoch = volume_epoch,
				       .members = (char *)LINEAGE ":300:n1,n2"};

	if (volume_epoch < 0)
		return fail(ret_err, ERR_NOT_FOUND, "it does not exist");
	*ret = dataset_copy(arena, &volume);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&call.arena, SIZE_MAX);
	node.catalog = catalog_new("t/p", 0);
	call.app = &node;
	call.deadline = NO_DEADLINE;
	call.caller = NULL;
	copy_epoch = volume_epoch = -1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	return 0;
}

/* Drop the copy for an owner of epoch 3. */
static int drop(bool deleted)
{
	const DropCopyRequest request = {
		.id = (char *)"v", .lineage = (char *)LINEAGE, .epoch = 3, .deleted = deleted};

	destroyed = false;
	return drop_copy(&call, &request, new_drop_copy_response(&call.arena), &err);
}

static void a_copy_of_a_later_owner_stays(void **state)
{
	(void)state;
	copy_epoch = 5;
	assert_int_equal(drop(false), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_false(destroyed);
	assert_int_equal(drop(true), 0);
	assert_false(destroyed);
	copy_epoch = 3;
	assert_int_equal(drop(true), 0);
	assert_true(destroyed);
}

/* The copy is locked while a stream is received into it. */
static void a_copy_that_receives_a_stream_stays(void **state)
{
	char *key = replica_key(&call.arena, "t/p/_replica/v");

	(void)state;
	copy_epoch = 3;
	assert_int_equal(catalog_lock_key(node.catalog, NO_DEADLINE, key, &err), 0);
	call.deadline = now_ms();
	assert_int_equal(drop(false), -1);
	assert_int_equal(err.code, ERR_ABORTED);
	assert_false(destroyed);
	catalog_unlock_key(node.catalog, key);
	assert_int_equal(drop(false), 0);
	assert_true(destroyed);
}

/*
 * The caller, which deleted the volume, was lost and removed from the members before it returned.
 */
static void a_node_that_is_no_member_any_more_asks_once(void **state)
{
	static const struct tls_names caller = {.n = 1, .list = {(char *)"n9"}};

	(void)state;
	call.caller = &caller;
	copy_epoch = 5;
	assert_int_equal(drop(true), 0);
	assert_false(destroyed);
	copy_epoch = 3;
	assert_int_equal(drop(true), -1);
	assert_int_equal(err.code, ERR_PERMISSION_DENIED);
	assert_false(destroyed);
}

/*
 * A host that returned with the volume of an earlier epoch refuses DropCopy until it has made way.
 */
static void a_deleted_volume_has_no_copy_on_the_node_that_took_it_over(void **state)
{
	(void)state;
	volume_epoch = 5;
	assert_int_equal(drop(false), -1);
	assert_int_equal(drop(true), 0);
	for (volume_epoch = 1; volume_epoch <= 3; volume_epoch++) {
		assert_int_equal(drop(true), -1);
		assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	}
	volume_epoch = -1;
	assert_int_equal(drop(false), 0);
	assert_false(destroyed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_copy_of_a_later_owner_stays),
		TEST(a_copy_that_receives_a_stream_stays),
		TEST(a_node_that_is_no_member_any_more_asks_once),
		TEST(a_deleted_volume_has_no_copy_on_the_node_that_took_it_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
