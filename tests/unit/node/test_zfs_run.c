/* SPDX-License-Identifier: MPL-2.0 */
/* Programs that a stopping zcsi-node does not wait for, and the errors of those that only read. */
#include "tests/cmocka.h"

#include <string.h>

#include "common/exec.h"
#include "common/mem.h"
#include "node/zfs/zfs_run.h"

static bool stoppable;      /* true if the last program had a descriptor that stops it */
static const char *printed; /* the error text of the program, which fails; NULL: it succeeds */

typeof(exec_run) __wrap_exec_run;

int __wrap_exec_run(const struct exec *exec, struct exec_result *ret, struct error *err)
{
	(void)err;
	stoppable = exec->stop != 0;
	*ret = (struct exec_result){.status = printed != NULL};
	if (printed)
		ret->error = mem_strdup(printed);
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
	assert_true(RUN("zfs", "send", "-i", "t@s", "t"));
	assert_true(RUN("zfs", "send", "-nvP", "-t", "token"));
	assert_true(RUN("zpool", "status", "t"));
}

static void changes_run_to_their_end(void **state)
{
	(void)state;
	assert_false(RUN("zfs", "create", "t/d"));
	assert_false(RUN("zfs", "set", "a=b", "t"));
}

static struct error err; /* the error of the last program */

static enum error_code code_of(const char *text)
{
	const char *const argv[] = {"zfs", "get", "guid", "t/a", "t/b", NULL};

	printed = text;
	assert_int_equal(zfs_run(argv, &err), -1);
	printed = NULL;
	return err.code;
}

static void names_are_missing_only_if_nothing_else_failed(void **state)
{
	(void)state;
	assert_int_equal(code_of("cannot open 't/a': dataset does not exist\n"
				 "cannot open 't/b': dataset does not exist"),
			 ERR_NOT_FOUND);
	assert_int_equal(code_of("cannot open 't/a': dataset does not exist\n"
				 "cannot open 't/b': I/O error"),
			 ERR_INTERNAL);
	assert_int_equal(code_of("cannot open 't/a': pool I/O is currently suspended\n"
				 "cannot open 't/b': dataset does not exist"),
			 ERR_UNAVAILABLE);
	assert_int_equal(code_of("connect: Permission denied\n"
				 "internal error: failed to initialize ZFS library"),
			 ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "chown NAME /run/zfs/zfs_socket"));
	assert_int_equal(code_of("bash: warning: setlocale: LC_ALL: cannot change locale\n"
				 "cannot open 't/a': dataset does not exist"),
			 ERR_NOT_FOUND);
}

static int stoppable_programs(void **state)
{
	(void)state;
	return zfs_run_stoppable(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_that_change_nothing_are_stopped),
		cmocka_unit_test(changes_run_to_their_end),
		cmocka_unit_test(names_are_missing_only_if_nothing_else_failed),
	};

	return cmocka_run_group_tests(tests, stoppable_programs, NULL);
}
