/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_DIFF_H
#define ZCSI_NODE_OWNER_DIFF_H

#include "common/mem.h"
#include "node/host/node.h"

/* A dataset that was put aside, and what it can be compared with. */
struct diff_sides {
	const char *name;
	const char *origin;    /* the newest snapshot that the new owner has too; NULL: none */
	const char *of_origin; /* the dataset of that snapshot: the copy, or the volume again */
	const char *guid;
	bool zvol;
};

/*
 * Parse what `zfs get` prints of the dataset in ret->name, in place, to *ret. Returns 0, or -1 with
 * *err: its key is not loaded. *ret_members is its zcsi:members. For tests.
 */
int diff_parse(char *text, struct diff_sides *ret, const char **ret_members, struct error *err);
/*
 * Check that files can be compared. members: zcsi:members of the dataset and of the origin's.
 * Returns 0, or -1 with ERR_FAILED_PRECONDITION. For tests.
 */
int diff_check(struct arena *arena, const struct diff_sides *sides, const char *members,
	       const char *origin_members, struct error *err);
/*
 * Unmount what a zcsi-node that was killed has left of the datasets below the parent, unless a diff
 * runs now. Any thread.
 */
void diff_tidy(const char *parent);

#endif
