/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A volume that was rolled back or detached is open for other calls again, unless it may have no
 * dataset: then it would count as missing, and could be made anew, empty.
 */
#include "tests/cmocka.h"

#include <string.h>

#include "common/log.h"
#include "node/agent/agent.h"
#include "node/attach/complete.h"
#include "node/change/alone.h"
#include "node/change/detach_run.h"
#include "node/change/detacher.h"
#include "node/change/properties.h"
#include "node/change/swap.h"
#include "node/host/moves.h"
#include "node/service.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): see scripted_rounds.c */
#include "tests/unit/node/scripted_rounds.c"

#define TEXT(text) ((char *)(text))

static struct node node = {.id = "n1"};
static struct rpc_call call = {.app = &node, .deadline = NO_DEADLINE};
static struct dataset volume;
static struct snapshot snapshot = {
	.id = TEXT("v@one"), .dataset_id = TEXT("v"), .zfs_name = TEXT("t/p/v@one")};
static int failed;   /* the result of the exchange of the datasets */
static bool missing; /* a failed exchange may leave the volume without dataset */
static struct error err;

/* Functions that a rollback calls, replaced for the test */

typeof(node_find) __wrap_node_find;
typeof(catalog_snapshot) __wrap_catalog_snapshot;
typeof(ssh_server) __wrap_ssh_server;
typeof(zfs_is_the_kernels) __wrap_zfs_is_the_kernels;
typeof(agent_prove) __wrap_agent_prove;
typeof(alone_check) __wrap_alone_check;
typeof(complete_volume) __wrap_complete_volume;
typeof(zfs_run_once) __wrap_zfs_run_once;
typeof(properties_read) __wrap_properties_read;
typeof(zfs_clone) __wrap_zfs_clone;
typeof(zfs_set) __wrap_zfs_set;
typeof(swap_exchange) __wrap_swap_exchange;
typeof(swap_discard) __wrap_swap_discard;
typeof(swap_promote) __wrap_swap_promote;

int __wrap_node_find(struct rpc_call *with, const char *id, struct dataset **ret,
		     struct error *ret_err)
{
	(void)with, (void)id, (void)ret_err;
	*ret = &volume;
	return 0;
}

int __wrap_catalog_snapshot(struct catalog *catalog, int64_t deadline, struct arena *arena,
			    const char *id, struct snapshot **ret, struct error *ret_err)
{
	(void)catalog, (void)deadline, (void)arena, (void)id, (void)ret_err;
	*ret = &snapshot;
	return 0;
}

const char *__wrap_ssh_server(void)
{
	return NULL;
}

bool __wrap_zfs_is_the_kernels(void)
{
	return true;
}

struct dataset *__wrap_agent_prove(struct arena *arena, const char *parent,
				   const struct dataset *dataset, size_t *ret_children,
				   struct error *ret_err)
{
	(void)parent, (void)ret_err;
	*ret_children = 0;
	return dataset_copy(arena, dataset);
}

int __wrap_alone_check(struct rpc_call *with, const struct dataset *of, size_t children,
		       struct error *ret_err)
{
	(void)with, (void)of, (void)children, (void)ret_err;
	return 0;
}

int __wrap_complete_volume(struct arena *arena, const struct dataset *of, struct error *ret_err)
{
	(void)arena, (void)of, (void)ret_err;
	return 0;
}

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *ret_err)
{
	(void)ret_err;
	*ret_out = mem_strdup(strcmp(exec->argv[1], "list") == 0 ? "t/p/v@two\n" : "0\n-\n");
	return 0;
}

int __wrap_properties_read(struct arena *arena, const char *name, const char *without,
			   struct zfs_properties *ret, struct error *ret_err)
{
	(void)arena, (void)name, (void)without, (void)ret, (void)ret_err;
	return 0;
}

int __wrap_zfs_clone(const char *from, const char *name, const struct zfs_properties *properties,
		     struct error *ret_err)
{
	(void)from, (void)name, (void)properties, (void)ret_err;
	return 0;
}

int __wrap_zfs_set(const char *name, const struct zfs_properties *properties, struct error *ret_err)
{
	(void)name, (void)properties, (void)ret_err;
	return 0;
}

int __wrap_swap_exchange(struct rpc_call *with, const struct swap *swap, struct dataset *of,
			 bool *ret_missing, struct error *ret_err)
{
	(void)with, (void)swap, (void)of;
	assert_int_equal(moves_check(node.moves, "v", &err), -1);
	*ret_missing = missing;
	return failed ? fail(ret_err, ERR_UNAVAILABLE, "a zfs is hung") : 0;
}

int __wrap_swap_discard(const struct swap *swap, struct error *ret_err)
{
	(void)swap, (void)ret_err;
	return 0;
}

int __wrap_swap_promote(struct catalog *catalog, struct arena *arena, int64_t deadline,
			const char *name, const char *id, struct error *ret_err)
{
	(void)catalog, (void)arena, (void)deadline, (void)name, (void)id, (void)ret_err;
	return 0;
}

static int roll_back(void)
{
	const RollbackDatasetRequest request = {.id = TEXT("v"), .snapshot_id = TEXT("v@one")};

	return rollback_dataset(&call, &request, new_rollback_dataset_response(&call.arena), &err);
}

/* The function that a detach calls, replaced for the test */

typeof(detach_run) __wrap_detach_run;

int __wrap_detach_run(struct detach *detach, const char *id, struct error *ret_err)
{
	assert_int_equal(moves_check(node.moves, id, &err), -1);
	detach->missing = missing;
	return failed ? fail(ret_err, ERR_UNAVAILABLE, "a zfs is hung") : 0;
}

/* Run a detach to its end. Returns its result. */
static int detach(void)
{
	struct detacher *detacher;

	assert_int_equal(detacher_start(&detacher, &node, NULL, &err), 0);
	assert_int_equal(detacher_begin(detacher, "v", &err), 0);
	work.round(NULL, work.arg, true);
	assert_int_equal(detacher_look(detacher, "v", &err), DETACHER_ENDED);
	detacher_stop(detacher);
	return err.code == ERR_OK ? 0 : -1;
}

/* The tests of rollbacks and detaches */

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(log_setup("error", "logfmt", &err), 0);
	volume = (struct dataset){.id = TEXT("v"),
				  .name = TEXT("t/p/v"),
				  .format = format_find(FORMAT_ZFS),
				  .members = TEXT(""),
				  .published = TEXT("")};
	snapshot.format = volume.format;
	arena_init(&call.arena, SIZE_MAX);
	node.catalog = catalog_new("t/p", 0);
	node.moves = moves_new();
	moves_known(node.moves);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	moves_free(node.moves);
	catalog_free(node.catalog);
	arena_fini(&call.arena);
	return 0;
}

/*
 * Run a rollback or a detach, which fails or not. Returns true if calls for the volume are
 * permitted after that.
 */
static bool is_open_after(int (*run)(void), bool fails, bool without)
{
	failed = fails ? -1 : 0;
	missing = without;
	assert_int_equal(run(), failed);
	bool open = moves_check(node.moves, "v", &err) == 0;
	moves_open(node.moves, "v");
	return open;
}

static void a_volume_is_open_after_a_rollback(void **state)
{
	(void)state;
	assert_true(is_open_after(roll_back, false, false));
	assert_true(is_open_after(roll_back, true, false));
	assert_false(is_open_after(roll_back, true, true));
}

static void a_volume_is_open_after_a_detach(void **state)
{
	(void)state;
	assert_true(is_open_after(detach, false, false));
	assert_true(is_open_after(detach, true, false));
	assert_false(is_open_after(detach, true, true));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_volume_is_open_after_a_rollback),
		TEST(a_volume_is_open_after_a_detach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
