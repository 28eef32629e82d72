/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHECK_ZFS_ALLOW_H
#define ZCSI_NODE_CHECK_ZFS_ALLOW_H

/* Searching the output of `zfs allow DATASET` for a permission. Runs no program. Any thread. */

#include <stdbool.h>
#include <stddef.h>

struct grantee {
	const char *user;
	const char *const *groups; /* the names of the user's groups */
	size_t n_groups;
};

/*
 * Returns true if the text grants the permission to the user, to one of the groups, or to everyone,
 * on the dataset and everything below it.
 */
bool zfs_allows(const char *text, const struct grantee *who, const char *permission);

#endif
