/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The devices that a zcsi-node which starts gives back: which zvols get theirs, and which errors
 * end the start.
 */
#include "node/move/earlier.h"

#include <string.h>

#include "node/attach/device.h"
#include "node/zfs/zfs_run.h"
#include "tests/arena.h"
#include "tests/cmocka.h"

static const char *shown;         /* datasets with a device shown, a space after each */
static enum error_code fails_for; /* device_show fails so for "t/p/a" */

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err);
int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	(void)err;
	assert_string_equal(exec->argv[1], "get");
	*ret_out = mem_strdup("t/p/a\tzcsi:members\tl:60:n1,n2\nt/p/a\tvolmode\tnone\n"
			      "t/p/b\tzcsi:members\tl:60:n1,n2\nt/p/b\tvolmode\tdev\n"
			      "t/p/c\tzcsi:members\tl:60:n1,n2\nt/p/c\tvolmode\tnone\n"
			      "t/p/d\tvolmode\tnone\n");
	return 0;
}

int __wrap_device_show(const char *dataset, struct error *err);
int __wrap_device_show(const char *dataset, struct error *err)
{
	shown = arena_printf(&arena, "%s%s ", shown, dataset);
	if (fails_for && strcmp(dataset, "t/p/a") == 0)
		return fail(err, fails_for, "zfs says no");
	return 0;
}

static void only_a_device_hidden_by_a_move_is_shown(void **state)
{
	struct error err;

	(void)state;
	shown = "";
	fails_for = ERR_OK;
	assert_int_equal(earlier_show(&arena, "t/p", &err), 0);
	assert_string_equal(shown, "t/p/a t/p/c ");
}

/*
 * A volume that cannot have its device keeps neither other volumes from theirs nor zcsi-node from
 * its start.
 */
static void only_a_pool_that_does_not_answer_is_asked_again(void **state)
{
	struct error err;

	(void)state;
	shown = "";
	fails_for = ERR_PERMISSION_DENIED;
	assert_int_equal(earlier_show(&arena, "t/p", &err), 0);
	assert_string_equal(shown, "t/p/a t/p/c ");
	shown = "";
	fails_for = ERR_UNAVAILABLE;
	assert_int_equal(earlier_show(&arena, "t/p", &err), -1);
	assert_string_equal(shown, "t/p/a ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_device_hidden_by_a_move_is_shown),
		cmocka_unit_test(only_a_pool_that_does_not_answer_is_asked_again),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
