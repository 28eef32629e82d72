/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checks of the programs and services that only some kinds of volumes need.
 *
 * Invariant: no service is started. With zfs-fuse, the things for features that it lacks are not
 * checked.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/exec.h"
#include "common/mem.h"
#include "node/host/address.h"
#include "node/check/check.h"
#include "node/export/exportfs.h"
#include "node/zfs/ssh.h"
#include "node/zfs/zfs_run.h"

#define THING_MAX 300

static const struct {
	const char *program, *package, *use;
} programs[] = {
	{"mkfs.ext4", "e2fsprogs", "fs_type ext4"},
	{"e2fsck", "e2fsprogs", "clones of volumes with fs_type ext4"},
	{"tune2fs", "e2fsprogs", "clones of volumes with fs_type ext4"},
	{"mkfs.xfs", "xfsprogs", "fs_type xfs"},
	{"xfs_admin", "xfsprogs", "clones of volumes with fs_type xfs"},
	{"exportfs", "nfs-kernel-server", "attach=nfs"},
};

/* Returns true if the program is in one of the directories that posix_spawnp searches. */
static bool is_installed(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];

	for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
		int length = (int)strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", length, path, program);
		if (!access(file, X_OK))
			return true;
		path += length;
	}
	return false;
}

static void check_programs(struct check *check)
{
	char thing[THING_MAX];

	for (size_t i = 0; i < COUNT(programs); i++) {
		snprintf(thing, sizeof(thing), "program '%s'", programs[i].program);
		check_has(check, OPTIONAL, thing, is_installed(programs[i].program),
			  "install %s, for %s", programs[i].package, programs[i].use);
	}
}

static void check_services(struct check *check)
{
	check_has(check, OPTIONAL, "names of devices, by udev", !access("/run/udev/control", F_OK),
		  "start systemd-udevd, or give the container the host's /run/udev and /dev, for "
		  "block volumes, ext4 and xfs");
	check_has(check, OPTIONAL, "NFS server", exportfs_serves(),
		  "run 'systemctl enable --now nfs-server', for attach=nfs");
}

/*
 * Returns true if the module nfs is loaded or can be loaded: the kernel loads it at the first
 * mount.
 */
static bool has_nfs(void)
{
	const char *const argv[] = {"modprobe", "--dry-run", "--quiet", "nfs", NULL};
	struct exec_result result;
	struct error err;

	if (exec_run(&(struct exec){.argv = argv}, &result, &err) < 0)
		return false;
	int status = result.status;
	exec_result_fini(&result);
	return status == 0;
}

/* Check what mounting the shares of other hosts needs; this does not depend on the host's ZFS. */
static void check_remote(struct check *check)
{
	char address[ADDRESS_MAX];

	check_has(check, OPTIONAL, "NFS client", has_nfs(),
		  "install the module nfs of this kernel, for volumes of other hosts with "
		  "attach=nfs");
	address_default(address);
	check_has(check, OPTIONAL, "address", *address || *check->settings->address,
		  "add a default route or give --address, for attach=nfs");
}

void check_optional(struct check *check)
{
	if (check->settings->dataset && !ssh_server() && zfs_is_the_kernels()) {
		check_programs(check);
		check_services(check);
	}
	check_remote(check);
}
