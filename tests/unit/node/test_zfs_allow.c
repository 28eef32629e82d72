/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of zfs_allows(), the parser of the output of `zfs allow`: which permissions a user has on
 * descendants.
 */
#include "node/check/zfs_allow.h"

#include "common/mem.h"
#include "tests/cmocka.h"

static const char text[] = "---- Permissions on t/p ------------------------------\n"
			   "Permission sets:\n"
			   "\t@all @some,destroy\n"
			   "\t@round @round,rename\n"
			   "\t@some clone,create\n"
			   "Create time permissions:\n"
			   "\tsync\n"
			   "Local permissions:\n"
			   "\tuser here canmount\n"
			   "Descendent permissions:\n"
			   "\tuser here userprop\n"
			   "Local+Descendent permissions:\n"
			   "\tuser here @all,mount\n"
			   "\tuser other @round\n"
			   "\tgroup staff refquota\n"
			   "\teveryone volsize\n"
			   "---- Permissions on t --------------------------------\n"
			   "Local+Descendent permissions:\n"
			   "\tuser here snapshot\n";

static const struct {
	const char *user, *permission;
	bool zfs_allows;
} cases[] = {
	{"here", "mount", true},      {"here", "clone", true},      {"here", "create", true},
	{"here", "destroy", true},    {"here", "snapshot", true},   {"here", "refquota", true},
	{"here", "volsize", true},    {"here", "canmount", false},  {"here", "userprop", false},
	{"here", "sync", false},      {"here", "rename", false},    {"here", "moun", false},
	{"here", "@all", true},       {"her", "mount", false},      {"here2", "mount", false},
	{"other", "rename", true},    {"other", "mount", false},    {"other", "", false},
	{"nobody", "refquota", true}, {"everyone", "mount", false},
};

static void only_permissions_on_descendants_count(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct grantee who = {cases[i].user, (const char *[]){"wheel", "staff"}, 2};
		bool allows = zfs_allows(text, &who, cases[i].permission);
		if (allows != cases[i].zfs_allows)
			print_error("%s: %s\n", cases[i].user, cases[i].permission);
		assert_int_equal(allows, cases[i].zfs_allows);
	}
}

static void a_truncated_list_allows_nothing(void **state)
{
	const struct grantee who = {"here", NULL, 0};
	char start[sizeof(text)];

	(void)state;
	for (size_t length = 0; length < sizeof(text); length++) {
		snprintf(start, length + 1, "%s", text);
		assert_false(zfs_allows(start, &who, "rename"));
	}
	assert_false(zfs_allows("", &who, "mount"));
	assert_false(zfs_allows("\n\t\n\tuser", &who, "mount"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_permissions_on_descendants_count),
		cmocka_unit_test(a_truncated_list_allows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
