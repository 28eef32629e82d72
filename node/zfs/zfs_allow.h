/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_ZFS_ALLOW_H
#define ZCSI_NODE_ZFS_ZFS_ALLOW_H

/* Questions to the output of `zfs allow DATASET`. Runs no program. */

#include <stdbool.h>
#include <stddef.h>

struct grantee {
	const char *user;
	const char *const *groups; /* that the user is in */
	size_t n_groups;
};

/* May it, on the dataset and on all that is below it? */
bool zfs_allows(const char *text, const struct grantee *who, const char *permission);

#endif
