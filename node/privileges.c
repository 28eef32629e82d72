/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Linux capabilities: one list of those that are of use here.
 *
 * Invariant: whatever else root may do, volumes do not need, and zcsi-node cannot. jobs/systemd has
 * the same list, and a test compares them.
 */
#include "node/privileges.h"

#include <linux/capability.h>

#include "common/mem.h"
#include "common/privilege.h"

#define ROW(capability, openzfs, use)                                                              \
	{                                                                                          \
		capability, #capability, use, openzfs                                              \
	}

const struct privilege privileges[] = {
	ROW(CAP_SYS_ADMIN, false, "to mount, and to run zfs"),
	ROW(CAP_CHOWN, false, "for the owner of a volume's root directory"),
	ROW(CAP_FOWNER, false, "for the mode of a root directory that is somebody's"),
	ROW(CAP_FSETID, false, "for a root directory whose group new files get"),
	ROW(CAP_DAC_OVERRIDE, false, "for paths through the folders of others"),
	ROW(CAP_SYS_PTRACE, false, "to say which process uses a volume"),
	ROW(CAP_MKNOD, true, "to make the devices of block volumes"),
	ROW(CAP_SYS_RESOURCE, true, "to grow ext4 while it is in use"),
};

const size_t n_privileges = COUNT(privileges);

int privileges_keep(struct error *err)
{
	uint64_t kept = 0;

	for (size_t i = 0; i < n_privileges; i++)
		kept |= PRIVILEGE_BIT(privileges[i].number);
	return privilege_keep(kept, err);
}
