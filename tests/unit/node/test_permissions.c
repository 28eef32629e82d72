/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of permissions: the parser, and applying them to a real root directory, which needs root.
 */
#include "tests/cmocka.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "node/mount/permissions.h"

#define NONE UINT32_MAX

static char directory[] = "/tmp/zcsi-permissions-XXXXXX";

static void permissions_are_parsed(void **state)
{
	static const struct {
		const char *root, *group;
		struct permissions expected;
	} rows[] = {
		{"", "", {NONE, NONE, NONE, NONE, 0}},
		{"::", "0", {NONE, NONE, NONE, 0, 0}},
		{"1000:1001:2750", "root", {1000, 1001, 02750, 0, 0}},
		{":4294967294:", "4294967294", {NONE, 4294967294, NONE, 4294967294, 0}},
		{"0::0", "", {0, NONE, 0, NONE, 0}},
	};
	struct permissions got;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(permissions_parse(rows[i].root, rows[i].group, &got, &err), 0);
		assert_int_equal(got.owner, rows[i].expected.owner);
		assert_int_equal(got.group, rows[i].expected.group);
		assert_int_equal(got.mode, rows[i].expected.mode);
		assert_int_equal(got.mount_group, rows[i].expected.mount_group);
	}
}

static void damaged_permissions_are_quoted(void **state)
{
	static const char *const roots[] = {"1000",         ":",
					    "1:2:3:4",      "a::",
					    "-1::",         "1 ::",
					    " 1::",         "::8",
					    "::10000",      "::0x7",
					    "4294967295::", ":+1:",
					    "1::7 ",        "18446744073709551616::"};
	static const char *const groups[] = {"no-such-group", "4294967295", "-1", " ", "0x10"};
	struct permissions got;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(roots); i++) {
		assert_int_equal(permissions_parse(roots[i], "", &got, &err), -1);
		assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
		assert_non_null(strstr(err.text, roots[i]));
	}
	for (size_t i = 0; i < COUNT(groups); i++) {
		assert_int_equal(permissions_parse("", groups[i], &got, &err), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, "volume_mount_group"));
	}
}

struct root {
	uid_t owner;
	gid_t group;
	mode_t mode;
};

static uid_t maker;

/* Apply permissions to a root directory in state `from`, on a read-only mount, and assert the state
 * `to`. */
static void check_apply(struct root from, const char *root, const char *group, struct root to)
{
	struct permissions want;
	struct error err;
	struct stat st;

	assert_int_equal(mount("none", directory, "tmpfs", 0, "mode=0755"), 0);
	assert_int_equal(chown(directory, from.owner, from.group) | chmod(directory, from.mode), 0);
	assert_int_equal(mount(NULL, directory, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
	assert_int_equal(permissions_parse(root, group, &want, &err), 0);
	want.maker = maker;
	assert_int_equal(permissions_apply(directory, &want, &err), 0);
	assert_int_equal(stat(directory, &st), 0);
	assert_int_equal(st.st_uid, to.owner);
	assert_int_equal(st.st_gid, to.group);
	assert_int_equal(st.st_mode & 07777, to.mode);
	assert_int_equal(umount(directory), 0);
}

static void only_a_new_directory_gets_owner_and_mode(void **state)
{
	(void)state;
	need_root();
	check_apply((struct root){0, 0, 0755}, "5:6:2750", "", (struct root){5, 6, 02750});
	check_apply((struct root){0, 0, 02750}, "5:6:2750", "", (struct root){5, 6, 02750});
	check_apply((struct root){0, 0, 0700}, "5:6:2750", "", (struct root){0, 0, 0700});
	check_apply((struct root){5, 6, 0755}, "5:6:2750", "", (struct root){5, 6, 0755});
	check_apply((struct root){0, 8, 0755}, "5:6:0700", "", (struct root){0, 8, 0755});
	check_apply((struct root){0, 0, 0755}, "", "", (struct root){0, 0, 0755});
}

static void a_directory_of_the_maker_counts_as_new(void **state)
{
	(void)state;
	need_root();
	maker = 998;
	check_apply((struct root){998, 998, 0755}, "5:6:2750", "", (struct root){5, 6, 02750});
	check_apply((struct root){998, 998, 02750}, "5:6:2750", "", (struct root){5, 6, 02750});
	check_apply((struct root){998, 998, 0755}, "", "", (struct root){0, 0, 0755});
	check_apply((struct root){998, 998, 0700}, "5:6:2750", "", (struct root){998, 998, 0700});
	check_apply((struct root){7, 998, 0755}, "5:6:2750", "", (struct root){7, 998, 0755});
	maker = 0;
}

static void the_mount_group_applies_to_any_directory(void **state)
{
	(void)state;
	need_root();
	check_apply((struct root){0, 0, 0755}, "", "9", (struct root){0, 9, 02775});
	check_apply((struct root){7, 8, 0701}, "", "9", (struct root){7, 9, 02771});
	check_apply((struct root){0, 0, 0755}, "5:6:0700", "9", (struct root){5, 9, 02770});
	/* The first state is left if zcsi-node was killed between the changes of mode and owner. */
	check_apply((struct root){0, 0, 02770}, "5:6:0700", "9", (struct root){5, 9, 02770});
	check_apply((struct root){7, 9, 02777}, "5:6:0700", "9", (struct root){7, 9, 02777});
}

static int setup(void **state)
{
	(void)state;
	if (!geteuid() &&
	    (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)))
		return -1;
	return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permissions_are_parsed),
		cmocka_unit_test(damaged_permissions_are_quoted),
		cmocka_unit_test(only_a_new_directory_gets_owner_and_mode),
		cmocka_unit_test(a_directory_of_the_maker_counts_as_new),
		cmocka_unit_test(the_mount_group_applies_to_any_directory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
