/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the parser of mountinfo, of path checks, and of real mounts. The real mounts need root
 * and are made in a mount namespace of the test, so that none is left behind.
 */
#include "tests/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "node/mount/mount.h"
#include "node/mount/kind.h"
#include "node/mount/path.h"
#include "node/mount/flags.h"
#include "tests/unit/starter.h"

#define TRIES    500
#define STARTERS 8

static struct arena arena;
static char *directory;

static char *in_directory(const char *name)
{
	return arena_printf(&arena, "%s/%s", directory, name);
}

static void mountinfo_is_parsed(void **state)
{
	char text[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		      "43 27 0:40 / /st\\040a\\134b rw,nosuid,noatime shared:7 master:3 "
		      "propagate_from:2 unbindable - fuse.zfs tank/p/a\\040b rw,user_id=0\n"
		      "44 27 0:40 /sub /t ro,relatime - zfs tank/p/c rw\n"
		      "45 27 0:40 / /t ro,nodev,noexec,nodiratime master:7 - zfs tank/p/d rw\n"
		      "garbage\n"
		      "1 2 3 4 5 6\n"
		      "46 27 0:41 / /last\\04 rw,relatime - tmpfs none rw";
	struct mount_table table;

	(void)state;
	mount_table_parse(&arena, text, &table);
	assert_int_equal(table.n, 5);
	const struct mount *staging = mount_at(&table, "/st a\\b");
	assert_non_null(staging);
	assert_string_equal(staging->source, "tank/p/a b");
	assert_int_equal(staging->device, makedev(0, 40));
	assert_int_equal(staging->shared, 7);
	assert_int_equal(staging->master, 3);
	assert_int_equal(staging->attrs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOATIME);
	assert_true(mount_is_of(staging, "tank/p/a b"));
	assert_false(mount_is_of(staging, "tank/p/a"));
	const struct mount *top = mount_at(&table, "/t");
	assert_string_equal(top->source, "tank/p/d");
	assert_int_equal(top->attrs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
					     MOUNT_ATTR_NODIRATIME | MOUNT_ATTR_STRICTATIME);
	assert_ptr_equal(mount_target_of(&table, staging), top);
	assert_null(mount_target_of(&table, top));
	/* A mount of a subdirectory is not a mount of the volume. An incomplete octal escape is
	 * kept as it is. */
	assert_null(mount_of(&table, "tank/p/c"));
	assert_non_null(mount_at(&table, "/last\\04"));
	assert_null(mount_at(&table, "/nowhere"));
}

/* mountinfo has a staging and a target of t/a, the target covered by another mount; a second
 * staging of t/a without a target; and a mount of t/b. */
static void the_mounts_of_a_dataset_are_found(void **state)
{
	char text[] = "11 1 0:40 / /s1 rw,relatime shared:7 - zfs t/a rw\n"
		      "12 1 0:40 / /t1 rw,relatime shared:9 master:7 - zfs t/a rw\n"
		      "13 1 0:40 / /s2 rw,relatime shared:8 - zfs t/a rw\n"
		      "14 1 0:41 / /t1 rw,relatime - tmpfs none rw\n"
		      "15 1 0:40 /sub /t2 rw,relatime master:7 - zfs t/a rw\n"
		      "16 1 0:42 / /t3 rw,relatime - fuse.zfs t/b rw\n";
	struct mount_table table;

	(void)state;
	mount_table_parse(&arena, text, &table);
	assert_int_equal(mount_of_at(&table, "t/a", "/t1")->id, 12);
	assert_int_equal(mount_at(&table, "/t1")->id, 14);
	assert_null(mount_of_at(&table, "t/a", "/t2"));
	assert_null(mount_of_at(&table, "t/b", "/t1"));
	assert_true(mount_is_staging(mount_at(&table, "/s1")));
	assert_false(mount_is_staging(mount_of_at(&table, "t/a", "/t1")));
	assert_false(mount_is_staging(mount_at(&table, "/t3")));
	assert_int_equal(mount_of_elsewhere(&table, "t/a", "/t4")->id, 12);
	assert_null(mount_of_elsewhere(&table, "t/a", "/t1"));
	assert_int_equal(mount_of_elsewhere(&table, "t/b", "/t1")->id, 16);
}

/* A block volume is staged as a tmpfs with a device node, and published as a bind mount of that
 * node. */
static void the_mounts_of_a_zvol_are_found(void **state)
{
	char text[] = "11 1 0:40 / /s rw shared:1 - tmpfs /dev/zvol/t/p/a rw\n"
		      "12 1 0:40 /device /t rw master:1 - tmpfs /dev/zvol/t/p/a rw\n"
		      "13 1 0:40 /other /u rw master:1 - tmpfs /dev/zvol/t/p/a rw\n"
		      "14 1 230:0 / /v rw shared:2 - ext4 /dev/zvol/t/p/b rw\n"
		      "15 1 230:16 / /w rw shared:3 - xfs /dev/zvol/t/p/c rw\n"
		      "16 1 230:32 / /x rw shared:4 - btrfs /dev/zvol/t/p/d rw\n"
		      "17 1 0:41 / /y rw - tmpfs t/p/a rw\n"
		      "18 1 230:0 /device /z rw master:2 - ext4 /dev/zvol/t/p/b rw\n";
	struct mount_table table;

	(void)state;
	mount_table_parse(&arena, text, &table);
	assert_int_equal(mount_of(&table, "t/p/a")->id, 11);
	assert_int_equal(mount_of_at(&table, "t/p/a", "/t")->id, 12);
	assert_null(mount_of_at(&table, "t/p/a", "/u"));
	assert_null(mount_of_at(&table, "t/p/a", "/y"));
	assert_int_equal(mount_of_elsewhere(&table, "t/p/a", "/s")->id, 12);
	assert_int_equal(mount_target_of(&table, mount_at(&table, "/s"))->id, 12);
	assert_string_equal(mount_format(mount_at(&table, "/t"))->name, "block");
	assert_string_equal(mount_target_root(mount_at(&table, "/s")), "/device");
	assert_int_equal(mount_of(&table, "t/p/b")->id, 14);
	assert_string_equal(mount_format(mount_of(&table, "t/p/b"))->name, "ext4");
	assert_null(mount_of_at(&table, "t/p/b", "/z"));
	assert_true(mount_is_on(mount_at(&table, "/z"), "t/p/b"));
	assert_string_equal(mount_format(mount_of(&table, "t/p/c"))->name, "xfs");
	assert_null(mount_of(&table, "t/p/d"));
	assert_null(mount_format(mount_at(&table, "/x")));
}

/* An export of zcsi is recognised by the last component of its path; a foreign export only by the
 * path at which it is mounted. */
static void the_mounts_of_a_share_are_found(void **state)
{
	char text[] = "11 1 0:40 / /home rw - nfs4 nas:/home rw\n"
		      "12 1 0:41 / /s rw shared:1 - nfs4 10.0.0.1:/run/zcsi-nfs/tank/zcsi/a rw\n"
		      "13 1 0:41 / /t ro master:1 - nfs4 [fd00::1]:/run/zcsi-nfs/tank/zcsi/a rw\n"
		      "14 1 0:42 / /u rw - nfs4 10.0.0.1:/run/zcsi-nfs/tank/zcsi/b rw\n"
		      "15 1 0:43 / /v rw - nfs nas:/mnt/tank/vols/c rw\n";
	struct mount_table table;

	(void)state;
	mount_table_parse(&arena, text, &table);
	assert_int_equal(mount_of(&table, "pool/other/a")->id, 12);
	assert_int_equal(mount_of(&table, "a")->id, 12);
	assert_int_equal(mount_of_at(&table, "a", "/t")->id, 13);
	assert_null(mount_of_at(&table, "a", "/u"));
	assert_int_equal(mount_of_elsewhere(&table, "a", "/x")->id, 13);
	assert_null(mount_of(&table, "home"));
	assert_null(mount_of(&table, "c"));
	assert_int_equal(mount_of_at(&table, "a", "/v")->id, 15);
	assert_null(mount_of_elsewhere(&table, "c", "/x"));
}

/* The mount that mountinfo lists last is below the first one, so that the top mount is found by the
 * parent ids. A slave mount at the path of the staging is not a target. */
static void the_top_mount_is_found_by_its_parents(void **state)
{
	char text[] = "51 45 0:40 / /t rw,relatime shared:7 - zfs t/a rw\n"
		      "30 1 0:40 / /t rw,relatime master:7 - zfs t/a rw\n"
		      "45 30 0:40 / /t rw,relatime master:7 - zfs t/a rw\n";
	struct mount_table table;

	(void)state;
	mount_table_parse(&arena, text, &table);
	assert_int_equal(mount_at(&table, "/t")->id, 51);
	assert_null(mount_target_of(&table, mount_at(&table, "/t")));
}

static void known_flags_are_applied_and_others_refused(void **state)
{
	char ro[] = "ro", rw[] = "rw", noatime[] = "noatime", relatime[] = "relatime";
	char nosuid[] = "nosuid", sync_flag[] = "sync";
	char *good[] = {ro, noatime, nosuid, relatime, rw};
	char *bad[] = {ro, sync_flag, noatime};
	struct error err;
	uint64_t attrs = 0;

	(void)state;
	assert_int_equal(mount_attrs_parse(good, COUNT(good), &attrs, &err), 0);
	assert_int_equal(attrs, MOUNT_ATTR_NOSUID);
	assert_int_equal(mount_attrs_parse(bad, COUNT(bad), &attrs, &err), -1);
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
	assert_non_null(strstr(err.text, "'sync'"));
	assert_non_null(strstr(err.text, "strictatime"));
}

static void paths_with_odd_components_are_refused(void **state)
{
	static const char *const bad[] = {"",     "relative", "some/path", "/",    "/a/../b", "/..",
					  "/a/.", "//a",      "/a//b",     "/a//", "/./a"};
	static const char *const good[] = {"/a", "/a/b/", "/a/...", "/a/..b", "/a b/\xc3\xbc"};
	char *long_path = arena_alloc(&arena, PATH_MAX + 1);
	struct error err;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(path_check(bad[i], "target_path", &err), -1);
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
		assert_non_null(strstr(err.text, "target_path"));
	}
	for (size_t i = 0; i < COUNT(good); i++)
		assert_int_equal(path_check(good[i], "target_path", &err), 0);
	memset(long_path, 'a', PATH_MAX);
	*long_path = '/';
	assert_int_equal(path_check(long_path, "target_path", &err), -1);
}

static void a_link_in_the_last_component_is_not_followed(void **state)
{
	char *canonical;
	struct error err;
	bool made;

	(void)state;
	assert_int_equal(mkdir(in_directory("real"), 0700), 0);
	assert_int_equal(symlink("real", in_directory("link")), 0);
	assert_int_equal(path_canonical(&arena, in_directory("link/x/"), &canonical, &err), 0);
	assert_string_equal(canonical, in_directory("real/x"));
	assert_int_equal(path_canonical(&arena, in_directory("link"), &canonical, &err), 0);
	assert_string_equal(canonical, in_directory("link"));
	assert_int_equal(path_canonical(&arena, in_directory("none/x"), &canonical, &err), 0);
	assert_null(canonical);
	assert_int_equal(path_canonical(&arena, "/etc", &canonical, &err), 0);
	assert_string_equal(canonical, "/etc");
	assert_int_equal(path_make(in_directory("link"), PATH_DIRECTORY, &made, &err), -1);
	assert_int_equal(err.code, ERR_INVALID_ARGUMENT);
	assert_int_equal(path_make(in_directory("real"), PATH_DIRECTORY, &made, &err), 0);
	assert_false(made);
	assert_int_equal(path_make(in_directory("new"), PATH_DIRECTORY, &made, &err), 0);
	assert_true(made);
	assert_int_equal(path_make(directory, PATH_DIRECTORY, &made, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_non_null(strstr(err.text, "not empty"));
}

static const struct mount *now_at(const char *path)
{
	static struct mount_table table;
	struct error err;

	assert_int_equal(mount_table_read(&arena, &table, &err), 0);
	return mount_at(&table, path);
}

/* The tree has two stagings, and a read-only target of the first one. */
static void roles_are_visible_in_mountinfo(void **state)
{
	char *one = in_directory("one"), *two = in_directory("two"), *target = in_directory("t");
	struct mount_table table;
	struct error err;

	(void)state;
	need_root();
	assert_int_equal(mkdir(one, 0700) | mkdir(two, 0700) | mkdir(target, 0700), 0);
	assert_int_equal(mount("none", one, "ramfs", 0, NULL), 0);
	assert_int_equal(mount_make_staging(one, "none", MOUNT_ATTR_NOSUID, &err), 0);
	assert_int_equal(now_at(one)->attrs, MOUNT_ATTR_NOSUID);
	assert_int_equal(mount_bind(now_at(one), two, MOUNT_STAGING, 0, &err), 0);
	assert_int_equal(mount_bind(now_at(one), target, MOUNT_TARGET, MOUNT_ATTR_RDONLY, &err), 0);
	assert_int_equal(mount_table_read(&arena, &table, &err), 0);
	assert_int_not_equal(mount_at(&table, one)->shared, mount_at(&table, two)->shared);
	assert_string_equal(mount_target_of(&table, mount_at(&table, one))->target, target);
	assert_null(mount_target_of(&table, mount_at(&table, two)));
	assert_int_equal(now_at(target)->attrs, MOUNT_ATTR_RDONLY);
	assert_int_equal(open(in_directory("t/file"), O_CREAT | O_WRONLY, 0600), -1);
	assert_int_equal(mount_remove(target, &err), 0);
	assert_null(now_at(target));
	assert_int_equal(mount_remove(two, &err), 0);
	assert_int_equal(mount_remove(one, &err), 0);
	assert_null(now_at(one));
}

/* systemd makes the root mount shared, and a new mount below a shared mount is shared as well. */
static void roles_hold_below_a_shared_mount(void **state)
{
	char *shared = in_directory("shared"), *one = in_directory("shared/one");
	char *two = in_directory("shared/two"), *target = in_directory("shared/t");
	struct mount_table table;
	struct error err;

	(void)state;
	need_root();
	assert_int_equal(mkdir(shared, 0700), 0);
	assert_int_equal(mount("none", shared, "ramfs", 0, NULL), 0);
	assert_int_equal(mount(NULL, shared, NULL, MS_SHARED, NULL), 0);
	assert_int_equal(mkdir(one, 0700) | mkdir(two, 0700) | mkdir(target, 0700), 0);
	assert_int_equal(mount("none", one, "ramfs", 0, NULL), 0);
	assert_int_equal(mount_make_staging(one, "none", 0, &err), 0);
	assert_int_equal(mount_bind(now_at(one), two, MOUNT_STAGING, 0, &err), 0);
	assert_int_equal(mount_bind(now_at(one), target, MOUNT_TARGET, 0, &err), 0);
	assert_int_equal(mount_table_read(&arena, &table, &err), 0);
	assert_true(mount_is_staging(mount_at(&table, one)));
	assert_true(mount_is_staging(mount_at(&table, two)));
	assert_false(mount_is_staging(mount_at(&table, target)));
	assert_ptr_equal(mount_target_of(&table, mount_at(&table, one)), mount_at(&table, target));
	assert_null(mount_target_of(&table, mount_at(&table, two)));
	assert_int_equal(mount_remove(target, &err) | mount_remove(two, &err), 0);
	assert_int_equal(mount_remove(one, &err) | mount_remove(shared, &err), 0);
}

/*
 * A container and its host have the same shared mount. A mount below it that one of them makes
 * appears in both.
 */
static void attributes_reach_the_other_mounts_of_a_shared_parent(void **state)
{
	char *shared = in_directory("shared"), *host = in_directory("two");
	char *one = in_directory("shared/one"), *there = in_directory("two/one");
	struct error err;

	(void)state;
	need_root();
	assert_true(!mkdir(shared, 0700) || errno == EEXIST);
	assert_true(!mkdir(host, 0700) || errno == EEXIST);
	assert_int_equal(mount("none", shared, "ramfs", 0, NULL), 0);
	assert_int_equal(mount(NULL, shared, NULL, MS_SHARED, NULL), 0);
	assert_int_equal(mount(shared, host, NULL, MS_BIND, NULL), 0);
	assert_int_equal(mkdir(one, 0700), 0);
	assert_int_equal(mount("none", one, "ramfs", 0, NULL), 0);
	assert_int_equal(mount_make_staging(one, "none", MOUNT_ATTR_NODEV, &err), 0);
	assert_int_equal(now_at(there)->attrs, MOUNT_ATTR_NODEV);
	assert_int_equal(now_at(there)->shared, now_at(one)->shared);
	assert_int_equal(mount_make_staging(one, "none", MOUNT_ATTR_NOATIME, &err), 0);
	assert_int_equal(now_at(there)->attrs, MOUNT_ATTR_NOATIME);
	assert_int_equal(mount_remove(one, &err), 0);
	assert_null(now_at(there));
	assert_int_equal(mount_remove(host, &err) | mount_remove(shared, &err), 0);
}

static void unmounting_a_busy_mount_names_the_process(void **state)
{
	char *path = in_directory("busy"), who[64];
	struct error err;

	(void)state;
	need_root();
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mount("none", path, "ramfs", 0, NULL), 0);
	int fd = open(in_directory("busy/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(mount_remove(path, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	snprintf(who, sizeof(who), "(pid %d)", (int)getpid());
	assert_non_null(strstr(err.text, who));
	assert_non_null(strstr(err.text, path));
	assert_non_null(now_at(path));
	close(fd);
	assert_int_equal(mount_remove(path, &err), 0);
}

/* A child that another thread forks holds copies of all descriptors until it executes its
 * program. */
static void a_child_being_started_does_not_make_a_mount_busy(void **state)
{
	char *path = in_directory("busy"), *file = in_directory("busy/file");
	struct starter starters[STARTERS];
	struct error err;
	int busy = 0;

	(void)state;
	need_root();
	assert_true(!mkdir(path, 0700) || errno == EEXIST);
	for (size_t i = 0; i < STARTERS; i++)
		starter_start(&starters[i]);
	for (int i = 0; i < TRIES; i++) {
		assert_int_equal(mount("none", path, "ramfs", 0, NULL), 0);
		close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		while (mount_remove(path, &err) && err.code == ERR_FAILED_PRECONDITION)
			busy++;
		assert_null(now_at(path));
	}
	for (size_t i = 0; i < STARTERS; i++)
		starter_stop(&starters[i]);
	assert_int_equal(busy, 0);
}

static int setup(void **state)
{
	char template[] = "/tmp/zcsi-mount-XXXXXX";

	(void)state;
	arena_init(&arena, SIZE_MAX);
	if (!geteuid() &&
	    (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)))
		return -1;
	if (!mkdtemp(template))
		return -1;
	directory = realpath(template, NULL);
	return directory ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const left[] = {"real", "new", "one", "two", "t", "busy", "shared"};

	(void)state;
	unlink(in_directory("link"));
	for (size_t i = 0; i < COUNT(left); i++)
		rmdir(in_directory(left[i]));
	int result = rmdir(directory);
	free(directory);
	arena_fini(&arena);
	return result;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mountinfo_is_parsed),
		cmocka_unit_test(the_mounts_of_a_dataset_are_found),
		cmocka_unit_test(the_mounts_of_a_zvol_are_found),
		cmocka_unit_test(the_mounts_of_a_share_are_found),
		cmocka_unit_test(the_top_mount_is_found_by_its_parents),
		cmocka_unit_test(known_flags_are_applied_and_others_refused),
		cmocka_unit_test(paths_with_odd_components_are_refused),
		cmocka_unit_test(a_link_in_the_last_component_is_not_followed),
		cmocka_unit_test(roles_are_visible_in_mountinfo),
		cmocka_unit_test(roles_hold_below_a_shared_mount),
		cmocka_unit_test(attributes_reach_the_other_mounts_of_a_shared_parent),
		cmocka_unit_test(unmounting_a_busy_mount_names_the_process),
		cmocka_unit_test(a_child_being_started_does_not_make_a_mount_busy),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
