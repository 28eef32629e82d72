/* SPDX-License-Identifier: MPL-2.0 */
/* When a volume is made complete after a power cut, and when that cannot be known. */
#include "tests/cmocka.h"

#include <fcntl.h>
#include <string.h>

#include "node/attach/complete.h"
#include "node/attach/device.h"
#include "node/host/owner.h"
#include "node/mount/mountinfo.h"
#include "node/mount/replay.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"

#define NAME "t/p/v"

static struct arena arena;
static bool kernels, mounted;
static const char *server;
static enum error_code replayed;            /* result of replay_log; 0: OK */
static enum error_code opened[2];           /* results of device_open */
static const char *volmode, *keystatus;     /* output of zfs */
static size_t replays, opens, gets, mounts; /* how often each was called; an unmount adds 10 */

typeof(zfs_is_the_kernels) __wrap_zfs_is_the_kernels;

bool __wrap_zfs_is_the_kernels(void)
{
	return kernels;
}

typeof(ssh_server) __wrap_ssh_server;

const char *__wrap_ssh_server(void)
{
	return server;
}

typeof(mount_table_read) __wrap_mount_table_read;

int __wrap_mount_table_read(struct arena *at, struct mount_table *ret, struct error *err)
{
	(void)err;
	*ret = (struct mount_table){.rows = arena_alloc(at, sizeof(*ret->rows)), .n = mounted};
	ret->rows[0] =
		(struct mount){.type = "zfs", .source = NAME, .root = "/", .target = "/somewhere"};
	return 0;
}

typeof(replay_log) __wrap_replay_log;

int __wrap_replay_log(const char *dataset, struct error *err)
{
	assert_string_equal(dataset, NAME);
	replays++;
	return replayed ? fail(err, replayed, "not replayed") : 0;
}

typeof(device_open) __wrap_device_open;

int __wrap_device_open(const char *dataset, int flags, int64_t deadline, struct error *err)
{
	enum error_code code = opened[opens++];

	(void)deadline;
	assert_string_equal(dataset, NAME);
	assert_int_equal(flags, 0);
	return code ? fail(err, code, "no device") : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

typeof(zfs_run_once) __wrap_zfs_run_once;

int __wrap_zfs_run_once(const struct exec *exec, char **ret_out, struct error *err)
{
	(void)err;
	if (strcmp(exec->argv[1], "mount") == 0)
		return mounts++ ? fail(err, ERR_UNKNOWN, "filesystem already mounted") : 0;
	assert_string_equal(exec->argv[1], "get");
	gets++;
	if (asprintf(ret_out, "%s\n%s\n", volmode, keystatus) < 0)
		abort();
	return 0;
}

typeof(zfs_run) __wrap_zfs_run;

int __wrap_zfs_run(const char *const *argv, struct error *err)
{
	(void)err;
	assert_string_equal(argv[1], "unmount");
	mounts += 10;
	return 0;
}

static int before(void **state)
{
	(void)state;
	kernels = true;
	mounted = false;
	server = NULL;
	replayed = opened[0] = opened[1] = ERR_OK;
	volmode = "default";
	keystatus = "-";
	replays = opens = gets = mounts = 0;
	arena_init(&arena, SIZE_MAX);
	return 0;
}

static int after(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

static struct dataset volume_of(const char *format)
{
	return (struct dataset){.id = (char *)"v",
				.name = (char *)NAME,
				.staged = (char *)"",
				.format = format_find(format)};
}

/* Returns ERR_OK, or why the volume is not complete. */
static enum error_code complete(const struct dataset *volume)
{
	struct error err;

	return complete_volume(&arena, volume, &err) < 0 ? err.code : ERR_OK;
}

static void a_filesystem_is_replayed_unless_it_is_mounted(void **state)
{
	struct dataset volume = volume_of("zfs");

	(void)state;
	assert_int_equal(complete(&volume), ERR_OK);
	assert_int_equal(replays, 1);
	replayed = ERR_UNAVAILABLE;
	assert_int_equal(complete(&volume), ERR_UNAVAILABLE);
	mounted = true;
	assert_int_equal(complete(&volume), ERR_OK);
	assert_int_equal(replays, 2);
}

static void zfs_fuse_is_left_alone(void **state)
{
	struct dataset volume = volume_of("zfs");

	(void)state;
	kernels = false;
	assert_int_equal(complete(&volume), ERR_OK);
	assert_int_equal(replays, 0);
}

static void without_its_key_a_volume_is_complete_if_it_was_unstaged(void **state)
{
	struct dataset volume = volume_of("zfs");

	(void)state;
	replayed = ERR_UNAUTHENTICATED;
	volume.has_key = true;
	assert_int_equal(complete(&volume), ERR_OK);
	volume.staged = (char *)"earlier";
	assert_int_equal(complete(&volume), ERR_FAILED_PRECONDITION);
	/* The volume was staged in this boot, so the kernel has unmounted it, not a power cut. */
	volume.staged = owner_boot(&arena);
	assert_int_equal(complete(&volume), ERR_OK);
	volume.staged = (char *)"earlier";
	replayed = ERR_OK;
	assert_int_equal(complete(&volume), ERR_OK);
	/* The volume's key is that of the parent, which may have been loaded: nothing is known. */
	volume.has_key = false;
	replayed = ERR_UNAUTHENTICATED;
	assert_int_equal(complete(&volume), ERR_FAILED_PRECONDITION);
}

static void a_zvol_is_complete_when_it_has_a_device(void **state)
{
	struct dataset volume = volume_of("ext4");

	(void)state;
	assert_int_equal(complete(&volume), ERR_OK);
	assert_true(opens == 1 && gets == 0 && replays == 0);
	/* The device exists, and opening it fails because the key was unloaded since. */
	opens = 0;
	opened[0] = ERR_PERMISSION_DENIED;
	assert_int_equal(complete(&volume), ERR_OK);
	assert_int_equal(gets, 0);
	/* The device appears late: the first open fails, the second does not. */
	opens = 0;
	opened[0] = ERR_UNAVAILABLE;
	assert_int_equal(complete(&volume), ERR_OK);
	assert_true(opens == 2 && gets == 1);
	opens = 0;
	opened[1] = ERR_UNAVAILABLE;
	assert_int_equal(complete(&volume), ERR_UNAVAILABLE);
}

static void a_hidden_zvol_is_not_waited_for(void **state)
{
	struct dataset volume = volume_of("block");

	(void)state;
	opened[0] = ERR_UNAVAILABLE;
	volmode = "none";
	assert_int_equal(complete(&volume), ERR_OK);
	assert_int_equal(opens, 1);
}

static void without_its_key_a_zvol_is_complete_if_it_was_unstaged(void **state)
{
	struct dataset volume = volume_of("ext4");

	(void)state;
	opened[0] = ERR_UNAVAILABLE;
	keystatus = "unavailable";
	volume.has_key = true;
	assert_int_equal(complete(&volume), ERR_OK);
	assert_int_equal(opens, 0);
	volume.staged = (char *)"earlier";
	assert_int_equal(complete(&volume), ERR_FAILED_PRECONDITION);
	assert_int_equal(opens, 1);
}

static void a_server_unmounts_a_volume_again(void **state)
{
	struct dataset volume = volume_of("zfs");

	(void)state;
	server = "zcsi@filer";
	assert_int_equal(complete(&volume), ERR_OK);
	assert_true(mounts == 11 && replays == 0);
	/* The volume is mounted already, by an export. */
	assert_int_equal(complete(&volume), ERR_OK);
	assert_int_equal(mounts, 12);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_filesystem_is_replayed_unless_it_is_mounted),
		TEST(zfs_fuse_is_left_alone),
		TEST(without_its_key_a_volume_is_complete_if_it_was_unstaged),
		TEST(a_zvol_is_complete_when_it_has_a_device),
		TEST(a_hidden_zvol_is_not_waited_for),
		TEST(without_its_key_a_zvol_is_complete_if_it_was_unstaged),
		TEST(a_server_unmounts_a_volume_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
