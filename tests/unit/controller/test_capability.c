/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of VolumeCapability: which ones are incomplete, which are not supported, and which are
 * accepted.
 */
#include "tests/cmocka.h"

#include <stdbool.h>
#include <string.h>

#include "controller/capability.h"
#include "tests/arena.h"

static VolumeCapability *mount(const char *fs_type, VolumeCapability_AccessMode_Mode mode)
{
	VolumeCapability *capability = new_volume_capability(&arena);

	capability->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT;
	capability->mount = new_volume_capability_mount_volume(&arena);
	capability->mount->fs_type = arena_strdup(&arena, fs_type);
	capability->access_mode = new_volume_capability_access_mode(&arena);
	capability->access_mode->mode = mode;
	return capability;
}

static VolumeCapability *usual(void)
{
	return mount("", VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER);
}

static void assert_refused(int result, const struct error *err, const char *word)
{
	assert_int_equal(result, -1);
	assert_int_equal(err->code, ERR_INVALID_ARGUMENT);
	assert_non_null(strstr(err->text, word));
}

static void supported_capabilities_are_accepted(void **state)
{
	VolumeCapability *const list[] = {
		usual(),
		mount("zfs", VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER),
		mount("", VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_READER_ONLY),
		mount("", VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_SINGLE_WRITER),
		mount("", VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_MULTI_WRITER),
	};
	const char *format;
	struct error err;

	(void)state;
	list[0]->mount->volume_mount_group = arena_strdup(&arena, "1000");
	assert_int_equal(capabilities_check(COUNT(list), list, &err), 0);
	assert_int_equal(capabilities_support(COUNT(list), list, &format, &err), 0);
	assert_string_equal(format, "zfs");
}

static void incomplete_capabilities_are_refused(void **state)
{
	VolumeCapability *none = new_volume_capability(&arena);
	VolumeCapability *no_mode = usual(), *unknown_mode = usual(), *no_type = usual();
	struct error err;

	(void)state;
	no_mode->access_mode = NULL;
	unknown_mode->access_mode->mode = VOLUME_CAPABILITY_ACCESS_MODE_MODE_UNKNOWN;
	no_type->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_NOT_SET;
	assert_refused(capability_check(none, &err), &err, "access_type");
	assert_refused(capability_check(no_type, &err), &err, "access_type");
	assert_refused(capability_check(no_mode, &err), &err, "access_mode");
	assert_refused(capability_check(unknown_mode, &err), &err, "access_mode");
	assert_refused(capabilities_check(0, NULL, &err), &err, "volume_capabilities");
	VolumeCapability *const list[] = {usual(), no_mode};
	assert_refused(capabilities_check(COUNT(list), list, &err), &err, "access_mode");
}

static VolumeCapability *block(void)
{
	VolumeCapability *capability = usual();

	capability->access_type_case = VOLUME_CAPABILITY_ACCESS_TYPE_BLOCK;
	capability->block = new_volume_capability_block_volume(&arena);
	return capability;
}

static VolumeCapability *with(const char *fs_type)
{
	return mount(fs_type, VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER);
}

/* format is the format that a list of two capabilities requires; NULL if they contradict each
 * other. */
static void a_list_requires_one_format(void **state)
{
	const struct {
		VolumeCapability *list[2];
		const char *format;
	} cases[] = {
		{{with(""), with("")}, ""},          {{with("ext4"), with("")}, "ext4"},
		{{with(""), with("xfs")}, "xfs"},    {{block(), block()}, "block"},
		{{block(), with("")}, NULL},         {{with(""), block()}, NULL},
		{{with("ext4"), with("xfs")}, NULL}, {{with("zfs"), with("ext4")}, NULL},
		{{block(), with("ext4")}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *format;
		struct error err;
		int result = capabilities_support(2, cases[i].list, &format, &err);
		if (!cases[i].format) {
			assert_refused(result, &err, "make two");
			continue;
		}
		assert_int_equal(result, 0);
		assert_string_equal(format, cases[i].format);
	}
}

static void a_capability_fits_the_format_of_the_volume(void **state)
{
	static const struct {
		const char *asked, *is;
		bool fits;
	} cases[] = {
		{"", "zfs", true},       {"", "ext4", true},       {"", "block", false},
		{"zfs", "zfs", true},    {"zfs", "ext4", false},   {"ext4", "ext4", true},
		{"ext4", "xfs", false},  {"xfs", "block", false},  {"block", "block", true},
		{"block", "zfs", false}, {"block", "ext4", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		Dataset *dataset = new_dataset(&arena);
		struct error err;
		dataset->id = arena_strdup(&arena, "V");
		dataset->format = arena_strdup(&arena, cases[i].is);
		VolumeCapability *asked =
			strcmp(cases[i].asked, "block") ? with(cases[i].asked) : block();
		int result = capability_fits(asked, dataset, &err);
		assert_int_equal(result, cases[i].fits ? 0 : -1);
		if (!cases[i].fits)
			assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
	}
}

static void unsupported_file_systems_are_refused(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(capability_check(block(), &err), 0);
	assert_int_equal(capability_support(block(), &err), 0);
	static const char *const fs_types[] = {"ext2", "block", "nfs", "ZFS", "nonsense"};
	for (size_t i = 0; i < COUNT(fs_types); i++)
		assert_refused(capability_support(
				       mount(fs_types[i],
					     VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER),
				       &err),
			       &err, fs_types[i]);
}

static void unsupported_modes_are_refused(void **state)
{
	static const int modes[] = {8, 1000, -1};
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(modes); i++) {
		VolumeCapability *capability = usual();
		capability->access_mode->mode = (VolumeCapability_AccessMode_Mode)modes[i];
		assert_int_equal(capability_check(capability, &err), 0);
		assert_refused(capability_support(capability, &err), &err, "access mode");
	}
}

/* Access modes of several nodes require a volume that other nodes can attach (attach=nfs). */
static void modes_of_several_nodes_need_attach_nfs(void **state)
{
	static const int single[] = {1, 2, 6, 7}, multi[] = {3, 4, 5};
	VolumeCapability *const list[] = {usual(), usual()};
	const char *format;
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(single); i++) {
		list[1]->access_mode->mode = (VolumeCapability_AccessMode_Mode)single[i];
		assert_int_equal(capabilities_reach(COUNT(list), list, "local", &err), 0);
	}
	for (size_t i = 0; i < COUNT(multi); i++) {
		list[1]->access_mode->mode = (VolumeCapability_AccessMode_Mode)multi[i];
		assert_int_equal(capabilities_support(COUNT(list), list, &format, &err), 0);
		assert_int_equal(capabilities_reach(COUNT(list), list, "nfs", &err), 0);
		assert_refused(capabilities_reach(COUNT(list), list, "local", &err), &err,
			       "attach=nfs");
	}
}

static void long_flags_and_fs_types_are_refused(void **state)
{
	VolumeCapability *capability = usual();
	char flag[2049], fs_type[130];
	char *flags[] = {flag, flag};
	struct error err;

	(void)state;
	memset(flag, 'x', sizeof(flag));
	flag[2048] = '\0';
	capability->mount->n_mount_flags = 2;
	capability->mount->mount_flags = flags;
	assert_int_equal(capability_check(capability, &err), 0);
	char more[] = "y";
	char *three[] = {flag, flag, more};
	capability->mount->n_mount_flags = 3;
	capability->mount->mount_flags = three;
	assert_refused(capability_check(capability, &err), &err, "mount_flags");
	memset(fs_type, 'x', sizeof(fs_type));
	fs_type[129] = '\0';
	assert_refused(
		capability_check(mount(fs_type,
				       VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER),
				 &err),
		&err, "fs_type");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(supported_capabilities_are_accepted, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(incomplete_capabilities_are_refused, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(a_list_requires_one_format, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(a_capability_fits_the_format_of_the_volume,
						arena_setup, arena_teardown),
		cmocka_unit_test_setup_teardown(unsupported_file_systems_are_refused, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(unsupported_modes_are_refused, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(modes_of_several_nodes_need_attach_nfs, arena_setup,
						arena_teardown),
		cmocka_unit_test_setup_teardown(long_flags_and_fs_types_are_refused, arena_setup,
						arena_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
