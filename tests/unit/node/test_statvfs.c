/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of statvfs with a timeout, on a file system that answers and on a FUSE file system whose
 * server does not. The FUSE file system is mounted in a mount namespace of the test and needs root.
 */
#include "tests/cmocka.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/clock.h"
#include "node/mount/call.h"

#define CALLERS  16
#define LONG_MS  10000
#define SHORT_MS 100

static char directory[] = "/tmp/zcsi-statvfs-XXXXXX";

static bool is_statvfs_thread(const char *task)
{
	char path[64], name[32] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", task);
	auto_fclose FILE *file = fopen(path, "re");
	return file && fgets(name, sizeof(name), file) && !strcmp(name, MOUNT_CALL_STATVFS "\n");
}

static size_t count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	size_t n = 0;

	assert_non_null(dir);
	for (struct dirent *row; (row = readdir(dir));)
		n += is_statvfs_thread(row->d_name);
	closedir(dir);
	return n;
}

static void wait_for_threads(size_t n)
{
	for (int64_t end = now_ms() + LONG_MS; count_threads() != n; sched_yield())
		assert_true(now_ms() < end);
}

static void a_filesystem_that_works_answers(void **state)
{
	struct mount root = {.id = 1, .target = "/"}, none = {.id = 2, .target = "/none/such"};
	struct statvfs fs = {0};

	(void)state;
	assert_int_equal(mount_call_statvfs(&root, now_ms() + LONG_MS, &fs), 0);
	assert_true(fs.f_blocks >= fs.f_bfree && fs.f_frsize);
	assert_int_equal(mount_call_statvfs(&none, now_ms() + LONG_MS, &fs), ENOENT);
	wait_for_threads(0);
}

static int call_within(int64_t ms)
{
	struct mount dead = {.id = 3, .target = directory};
	struct statvfs fs;

	return mount_call_statvfs(&dead, now_ms() + ms, &fs);
}

static void *call_dead(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)call_within(SHORT_MS);
}

static void mount_dead(int *ret_fuse)
{
	char options[64];

	need_root();
	*ret_fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	assert_return_code(*ret_fuse, errno);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", *ret_fuse);
	assert_int_equal(mount("p/a", directory, "fuse.zfs", 0, options), 0);
}

static void a_dead_filesystem_costs_one_thread(void **state)
{
	pthread_t callers[CALLERS];
	void *error;
	int fuse;

	(void)state;
	mount_dead(&fuse);
	for (size_t i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_create(&callers[i], NULL, call_dead, NULL), 0);
	for (size_t i = 0; i < CALLERS; i++) {
		assert_int_equal(pthread_join(callers[i], &error), 0);
		assert_int_equal((intptr_t)error, ETIMEDOUT);
	}
	assert_int_equal(call_within(SHORT_MS), ETIMEDOUT);
	wait_for_threads(1);
	close(fuse);
	wait_for_threads(0);
	assert_int_equal(call_within(LONG_MS), ENOTCONN);
	assert_int_equal(umount(directory), 0);
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
		cmocka_unit_test(a_filesystem_that_works_answers),
		cmocka_unit_test(a_dead_filesystem_costs_one_thread),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
