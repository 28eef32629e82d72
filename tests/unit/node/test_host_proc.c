/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of what is read from the host's /proc, which a container has as /host/proc, and of exports
 * when no file can be opened. The first need root, for chroot into a folder with a /proc of the
 * test.
 */
#include "tests/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/exec.h"
#include "node/export/exportfs.h"
#include "node/mount/users.h"
#include "tests/arena.h"

#define PROCESSES 8

static char folder[] = "/tmp/zcsi-proc-XXXXXX";
static int real_root = -1;

static void write_text(const char *path, const char *text)
{
	char *folders = arena_strdup(&arena, path);

	for (char *slash = strchr(folders, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folders, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void enter(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(chroot("."), 0);
}

static int leave(void **state)
{
	(void)state;
	return real_root < 0 || geteuid() || (!fchdir(real_root) && !chroot(".") && !chdir(folder))
		       ? 0
		       : -1;
}

static void the_nfs_server_is_that_of_the_first_process(void **state)
{
	enter(state);
	write_text("proc/fs/nfsd/threads", "0\n");
	assert_false(exportfs_serves());
	write_text("proc/fs/nfsd/threads", "8\n");
	assert_true(exportfs_serves());
	write_text("proc/fs/nfsd/threads", "0\n");
	write_text("host/proc/1/root/proc/fs/nfsd/threads", "8\n");
	assert_true(exportfs_serves());
}

/*
 * Only one process of the namespace can be read at a time, each in turn, as if all others had
 * ended.
 */
static void a_namespace_is_read_by_any_of_its_processes(void **state)
{
	enter(state);
	write_text("host/proc/1/ns/mnt", "");
	for (int i = 2; i < PROCESSES; i++) {
		const char *name = arena_printf(&arena, "host/proc/%d/ns/mnt", i);
		write_text(name, "");
		assert_int_equal(unlink(name), 0);
		assert_int_equal(link("host/proc/1/ns/mnt", name), 0);
	}
	for (int i = 1; i < PROCESSES; i++) {
		const char *name = arena_printf(&arena, "host/proc/%d/mountinfo", i);
		write_text(name, "11 1 0:40 / /there rw - zfs t/a rw\n");
		const char *text = mount_in_other_namespace(&arena, "t/a", 0);
		assert_non_null(text);
		assert_non_null(strstr(text, arena_printf(&arena, "(pid %d)", i)));
		assert_int_equal(unlink(name), 0);
	}
	assert_null(mount_in_other_namespace(&arena, "t/a", 0));
}

static void exports_that_cannot_be_read_are_not_withdrawn(void **state)
{
	const struct export_table none = {.n = 0};
	struct rlimit limit, few;
	struct error err;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	int failed = exportfs_set(&arena, "t/p", "/run/zcsi-nfs/t/p/a", &none, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(failed, -1);
	assert_non_null(strstr(err.text, "cannot read"));
}

static int setup(void **state)
{
	arena_setup(state);
	real_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return real_root >= 0 && mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	const char *argv[] = {"rm", "-r", folder, NULL};
	struct exec_result result;
	struct error err;

	close(real_root);
	assert_int_equal(exec_run(&(struct exec){.argv = argv}, &result, &err), 0);
	int status = result.status;
	exec_result_fini(&result);
	arena_teardown(state);
	return status;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_nfs_server_is_that_of_the_first_process, leave),
		cmocka_unit_test_teardown(a_namespace_is_read_by_any_of_its_processes, leave),
		cmocka_unit_test(exports_that_cannot_be_read_are_not_withdrawn),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
