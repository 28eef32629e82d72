/* SPDX-License-Identifier: MPL-2.0 */
/* ResizeDataset of a zvol whose size cannot be read. */
#include "tests/cmocka.h"

#include <string.h>

#include "node/agent/agent.h"
#include "node/agent/trash.h"
#include "node/host/size_limits.h"
#include "node/service.h"
#include "node/zfs/zfs_read.h"
#include "tests/arena.h"

static struct node node = {.id = "n1"};
static struct rpc_call call = {.app = &node, .arena = {.cap = SIZE_MAX}};

typeof(node_find) __wrap_node_find;

int __wrap_node_find(struct rpc_call *with, const char *id, struct dataset **ret, struct error *err)
{
	static struct dataset volume = {.name = (char *)"t/p/v", .size = 1 << 20};

	(void)with, (void)err;
	volume.id = (char *)id;
	volume.format = format_find(FORMAT_BLOCK);
	*ret = &volume;
	return 0;
}

typeof(size_limits_begin) __wrap_size_limits_begin;

int __wrap_size_limits_begin(struct rpc_call *with, struct pledge *pledge, struct error *err)
{
	(void)with, (void)pledge, (void)err;
	return 0;
}

typeof(size_limits_end) __wrap_size_limits_end;

void __wrap_size_limits_end(struct rpc_call *with, struct pledge *pledge)
{
	(void)with, (void)pledge;
}

typeof(zfs_volsize) __wrap_zfs_volsize;

int __wrap_zfs_volsize(const char *name, int64_t *ret, struct error *err)
{
	(void)ret;
	return fail(err, ERR_NOT_FOUND, "dataset '%s' does not exist", name);
}

typeof(agent_reread_on_error) __wrap_agent_reread_on_error;

void __wrap_agent_reread_on_error(struct rpc_call *with, const char *name, struct error *err)
{
	(void)with;
	assert_string_equal(name, "t/p/v");
	assert_int_equal(err->code, ERR_NOT_FOUND);
	fail(err, ERR_UNAVAILABLE, "there is no pool 't' on this host");
}

/* If the pool is missing, zfs reports no dataset, which does not mean that the volume is gone. */
static void a_volume_is_not_missing_while_the_pool_is(void **state)
{
	ResizeDatasetRequest req = {.id = (char *)"v", .size = 2 << 20};
	ResizeDatasetResponse rsp = {0};
	struct error err;

	(void)state;
	assert_int_equal(resize_dataset(&call, &req, &rsp, &err), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_volume_is_not_missing_while_the_pool_is),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
