/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of DetachDataset: which clones are refused, and how many bytes are copied of a clone that
 * is not.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "node/change/alone.h"
#include "node/change/detach.h"
#include "node/zfs/zfs_run.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_table.c"

#define TEXT(text) ((char *)(text))

static struct node node = {.id = "n1"};
static struct rpc_call call = {.app = &node, .arena = {.cap = SIZE_MAX}};
static struct dataset volume;
static struct detach_room room;
static struct error err;
/*
 * The output of zfs: the volume's snapshots; its `written` and `referenced`; the parent's
 * `available`.
 */
static const char *listed, *head, *available;
static const char *cloned; /* the properties of the clone: lines "name\tproperty\tvalue" */

typeof(alone_check) __wrap_alone_check;

int __wrap_alone_check(struct rpc_call *with, const struct dataset *of, size_t children,
		       struct error *ret_err)
{
	(void)with, (void)of, (void)children, (void)ret_err;
	return 0;
}

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *ret_err)
{
	const char *property = exec->argv[5];

	(void)ret_err;
	if (strcmp(exec->argv[1], "list") == 0)
		*ret_out = mem_strdup(listed);
	else if (strcmp(property, "available") == 0)
		*ret_out = mem_strdup(available);
	else if (strcmp(property, "written,referenced") == 0)
		*ret_out = mem_strdup(head);
	else
		*ret_out = mem_strdup(
			zfs_table_output(&call.arena, zfs_table_asked(exec->argv), cloned));
	return 0;
}

static int begin(void **state)
{
	(void)state;
	node.catalog = catalog_new("t/p", 0);
	volume = (struct dataset){
		.id = TEXT("v"), .name = TEXT("t/p/v"), .members = TEXT(""), .published = TEXT("")};
	listed = "";
	cloned = "t/p/a_20clone\tzcsi:volume\ta_20clone\n";
	head = "30\n5200\n";
	available = "1000000\n";
	err = (struct error){0};
	return 0;
}

static int end(void **state)
{
	(void)state;
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	arena_init(&call.arena, SIZE_MAX);
	return 0;
}

static int check(void)
{
	return detach_check(&call, &volume, 0, &room, &err);
}

static void assert_refused(const char *text)
{
	assert_int_equal(check(), -1);
	assert_non_null(strstr(err.text, text));
}

static void the_first_snapshot_is_copied_whole_and_of_later_ones_the_changes(void **state)
{
	(void)state;
	assert_int_equal(check(), 0);
	assert_int_equal(room.size, 5200);
	listed = "t/p/v@a\t0\t-\t100\t5000\n"
		 "t/p/v#_repl-n2\t-\t-\t-\t-\n"
		 "t/p/v@b\t0\t\t70\t5100\n";
	assert_int_equal(check(), 0);
	assert_int_equal(room.size, 5000 + 70 + 30);
	assert_int_equal(room.available, 1000000);
}

static void a_pool_without_room_is_refused(void **state)
{
	(void)state;
	available = "5201\n";
	assert_int_equal(check(), 0);
	available = "5200\n";
	assert_refused("5200 bytes, and only 5200 are free");
	assert_int_equal(err.code, ERR_RESOURCE_EXHAUSTED);
	available = "15000\n";
	volume.reserved = 10000;
	assert_refused("15200 bytes with what it reserves");
}

static void a_volume_on_which_others_depend_is_refused(void **state)
{
	(void)state;
	listed = "t/p/v@a\t0\tt/p/a_20clone,t/p/b\t100\t5000\n";
	assert_refused("'zcsi detach a clone'");
	cloned = "t/p/a_20clone\tzcsi:volume\ta_20clone\\nother\n";
	assert_refused("'zcsi detach t/p/a_20clone'");
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	listed = "t/p/v@a\t0\tt/p/_trash/x-1\t100\t5000\n";
	assert_refused("zcsi trash empty");
	listed = "t/p/v@a\t2\t-\t100\t5000\n";
	assert_refused("'zfs holds t/p/v@a'");
	listed = "t/p/v#_backup-n2\t-\t-\t-\t-\n";
	assert_refused("'zcsi backup drop v n2'");
	listed = "t/p/v#other\t-\t-\t-\t-\n";
	assert_refused("'zfs destroy t/p/v#other'");
	listed = "t/p/v@a\t2\n";
	assert_refused("no list");
	assert_int_equal(err.code, ERR_UNAVAILABLE);
}

static void a_volume_that_is_used_or_encrypted_or_has_copies_is_refused(void **state)
{
	(void)state;
	volume.published = TEXT("n1:1:rw");
	assert_refused("attached to node 'n1'");
	volume.published = TEXT("");
	volume.has_key = true;
	assert_refused("encrypted");
	volume.has_key = false;
	volume.members = TEXT("00112233aabbccdd:60:n1,n2");
	assert_refused("'zcsi copy drop v NODE'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_first_snapshot_is_copied_whole_and_of_later_ones_the_changes, begin,
			end),
		cmocka_unit_test_setup_teardown(a_pool_without_room_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(a_volume_on_which_others_depend_is_refused, begin,
						end),
		cmocka_unit_test_setup_teardown(
			a_volume_that_is_used_or_encrypted_or_has_copies_is_refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
