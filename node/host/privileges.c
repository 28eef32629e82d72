/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Linux capabilities: one list of those that are of use here.
 *
 * Invariant: whatever else root may do, volumes do not need, and zcsi-node cannot. jobs/systemd has
 * the same list, and a test compares them.
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
	ROW(CAP_FOWNER, ALWAYS, "for the mode of a root directory that is somebody's"),
	ROW(CAP_FSETID, ALWAYS, "for a root directory whose group new files get"),
	ROW(CAP_DAC_OVERRIDE, ALWAYS, "for paths through the folders of others"),
	ROW(CAP_SYS_PTRACE, ALWAYS, "to say which process uses a volume"),
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
