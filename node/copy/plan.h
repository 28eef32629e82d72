/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_PLAN_H
#define ZCSI_NODE_COPY_PLAN_H

#include "node/copy/history.h"
#include "node/copy/part.h"
#include "node/copy/push.h"

#define PLAN_THIN_MOST 256 /* snapshots in a ThinCopyRequest */

/*
 * Returns true for a snapshot that a copy is to have: of CSI (CreateSnapshot), of the schedule, or
 * of a backup, which a later owner can then continue.
 */
bool plan_is_asked(const struct push *push, const struct point *point);
/* Returns the records that snapshots of the copy lack, perhaps none, in the arena. */
DescribeCopyRequest *plan_records(const struct push *push, const struct history *history);
/* Returns true for a snapshot of plan_is_asked, and of another tool if copies are to have those. */
bool plan_wants(const struct push *push, const struct point *point);
/* Returns true if the copy has another snapshot with the name of one that is to be sent. */
bool plan_meets_old(const struct push *push, const struct part *parts, size_t n);

/*
 * *ret is the streams that the copy lacks, in the arena; the last one ends with the snapshot
 * `last`. Runs a program for each. Returns 0, or -1 with *err.
 */
int plan_make(struct push *push, const struct history *history, const struct point *last,
	      struct part **ret, size_t *ret_n, struct error *err);
/*
 * Returns a request that names the snapshots of a copy to destroy, perhaps none, in the arena; the
 * caller sets its other fields. copy: NULL if there is none. history: of the volume, read after the
 * last push of any other copy. Runs no program.
 */
ThinCopyRequest *plan_thin(struct arena *arena, const CopyState *copy,
			   const struct history *history);

#endif
