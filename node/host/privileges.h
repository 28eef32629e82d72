/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_PRIVILEGES_H
#define ZCSI_NODE_HOST_PRIVILEGES_H

/* The Linux capabilities (capabilities(7)) that zcsi-node and the programs it runs need. */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

enum privilege_when { ALWAYS, OPENZFS, ZFS_USER };

struct privilege {
	int number;       /* such as CAP_SYS_ADMIN of linux/capability.h */
	const char *name; /* "CAP_SYS_ADMIN" */
	const char *use;  /* "to mount, and to run zfs" */
	/* OPENZFS: not needed with zfs-fuse. ZFS_USER: only needed with --zfs-user. */
	enum privilege_when when;
};

extern const struct privilege privileges[];
extern const size_t n_privileges;

/*
 * Drop all other capabilities (common/privilege.h), and those for --zfs-user too if zfs_user is
 * false. Returns 0, or -1 with *err.
 */
int privileges_keep(bool zfs_user, struct error *err);

#endif
