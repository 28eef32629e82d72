/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The list of Linux capabilities that zcsi-node needs.
 *
 * Invariant: zcsi-node and the programs that it runs have no other capability. jobs/systemd has the
 * same list, and a test compares the two.
 */
#include "node/host/privileges.h"

#include <linux/capability.h>

#include "common/mem.h"
#include "common/privilege.h"

#define ROW(capability, when, use)                                                                 \
	{                                                                                          \
		capability, #capability, use, when                                                 \
	}

const struct privilege privileges[] = {
	ROW(CAP_SYS_ADMIN, ALWAYS, "to mount, and to run zfs"),
	ROW(CAP_CHOWN, ALWAYS, "for the owner of a volume's root directory"),
	ROW(CAP_FOWNER, ALWAYS, "for the mode of a root directory of another user"),
	ROW(CAP_FSETID, ALWAYS, "for the setgid bit of a root directory"),
	ROW(CAP_DAC_OVERRIDE, ALWAYS, "for paths through directories of other users"),
	ROW(CAP_SYS_PTRACE, ALWAYS, "to find the processes that use a volume"),
	ROW(CAP_SYS_CHROOT, ALWAYS, "to run the host's programs from a container"),
	ROW(CAP_MKNOD, OPENZFS, "to make the devices of block volumes"),
	ROW(CAP_SYS_RESOURCE, OPENZFS, "to grow ext4 while it is in use"),
	ROW(CAP_SETUID, ZFS_USER, "to run zfs as the user of --zfs-user"),
	ROW(CAP_SETGID, ZFS_USER, "to run zfs in the groups of that user"),
};

const size_t n_privileges = COUNT(privileges);

int privileges_keep(bool zfs_user, struct error *err)
{
	uint64_t kept = 0;

	for (size_t i = 0; i < n_privileges; i++)
		if (zfs_user || privileges[i].when != ZFS_USER)
			kept |= PRIVILEGE_BIT(privileges[i].number);
	return privilege_keep(kept, err);
}
