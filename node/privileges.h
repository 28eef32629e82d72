/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PRIVILEGES_H
#define ZCSI_PRIVILEGES_H

/* The Linux capabilities (capabilities(7)) that zcsi-node and the programs it runs have use for. */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

struct privilege {
	int number;       /* CAP_SYS_ADMIN of linux/capability.h */
	const char *name; /* "CAP_SYS_ADMIN" */
	const char *use;  /* "to mount, and to run zfs" */
	bool openzfs;     /* of no use where there is zfs-fuse */
};

extern const struct privilege privileges[];
extern const size_t n_privileges;

/* Give up all others (common/privilege.h). */
int privileges_keep(struct error *err);

#endif
