/* SPDX-License-Identifier: MPL-2.0 */
/* Programs that a stopping zcsi-node does not wait for. */
#include "tests/cmocka.h"

#include "common/exec.h"
#include "node/zfs/zfs_run.h"

static bool stoppable; /* true if the last program had a descriptor that stops it */

typeof(exec_run) __wrap_exec_run;

int __wrap_exec_run(const struct exec *exec, struct exec_result *ret, struct error *err)
{
	(void)err;
	stoppable = exec->stop != 0;
	*ret = (struct exec_result){0};
	return 0;
}

static bool is_stopped(const char *const *argv)
{
	struct error err;

	assert_int_equal(zfs_run(argv, &err), 0);
	return stoppable;
}

#define RUN(...) is_stopped((const char *const[]){__VA_ARGS__, NULL})

static void programs_that_change_nothing_are_stopped(void **state)
{
	(void)state;
	assert_true(RUN("zfs", "get", "guid", "t"));
	assert_true(RUN("zfs", "list", "t"));
	assert_true(RUN("zfs", "allow", "t"));
	assert_true(RUN("zfs", "send", "-nP", "t@s"));
	assert_true(RUN("zfs", "send", "-nvP", "-t", "token"));
	assert_true(RUN("zpool", "status", "t"));
}

static void changes_and_streams_run_to_their_end(void **state)
{
	(void)state;
	assert_false(RUN("zfs", "create", "t/d"));
	assert_false(RUN("zfs", "set", "a=b", "t"));
	assert_false(RUN("zfs", "send", "-w", "t@s"));
}

static int stoppable_programs(void **state)
{
	struct error err;

	(void)state;
	return zfs_run_stoppable(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_that_change_nothing_are_stopped),
		cmocka_unit_test(changes_and_streams_run_to_their_end),
	};

	return cmocka_run_group_tests(tests, stoppable_programs, NULL);
}
