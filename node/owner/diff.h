/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_DIFF_H
#define ZCSI_NODE_OWNER_DIFF_H

#include "common/mem.h"
#include "node/host/node.h"

struct zfs_fields; /* node/record/zfs_rows.h */

/* A dataset that was put aside, and what it can be compared with. */
struct diff_sides {
	const char *name;
	const char *origin;    /* the newest snapshot that the new owner has too; NULL: none */
	const char *of_origin; /* the dataset with that snapshot */
	const char *guid;
	bool zvol;
};

/*
 * Take the row of the dataset in ret->name to *ret. *ret_members is its zcsi:members. Returns 0,
 * or -1 with *err if the key of the dataset is not loaded. For tests.
 */
int diff_parse(const struct zfs_fields *row, struct diff_sides *ret, const char **ret_members,
	       struct error *err);
/*
 * Check that files can be compared. members, origin_members: zcsi:members of the dataset, and of
 * the dataset with its origin. Returns 0, or -1 with ERR_FAILED_PRECONDITION. For tests.
 */
int diff_check(struct arena *arena, const struct diff_sides *sides, const char *members,
	       const char *origin_members, struct error *err);
/*
 * Unmount the datasets below the parent that an earlier zcsi-node had mounted for a diff when it
 * was killed, unless a diff runs now. Any thread.
 */
void diff_tidy(const char *parent);

#endif
