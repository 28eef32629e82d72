/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_PART_H
#define ZCSI_NODE_COPY_PART_H

#include "node/copy/history.h"
#include "node/copy/push.h"

/* A stream of what changed between a point and a snapshot; of all data if base is NULL. */
struct part {
	const struct point *base, *to;
	int64_t size; /* bytes, as zfs estimates */
};

/* Set part->size, and add it to the progress. Returns 0, or -1 with *err. */
int part_estimate(struct push *push, struct part *part, struct error *err);
/*
 * Send the stream, and set push->copy to the state of the copy after it. Returns 0, or -1 with
 * *err: ERR_RESOURCE_EXHAUSTED if the stream is too large for the pool of the other node.
 */
int part_send(struct push *push, const struct part *part, struct error *err);

/*
 * Returns the guid of the snapshot with which the interrupted stream of push->copy->token ends; 0
 * if zfs here cannot continue that stream. *ret_size is the bytes that are left to send.
 */
uint64_t part_of_token(struct push *push, int64_t *ret_size);
/* Send what is left of an interrupted stream, which ends with `to`. Returns as part_send does. */
int part_send_rest(struct push *push, const struct point *to, struct error *err);

/* Returns what a copy is to record of a snapshot: no properties if it is not one of CSI. */
SnapshotRecord *part_record(const struct push *push, const struct point *point);

#endif
