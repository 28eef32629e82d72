/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_MEMBERSHIP_H
#define ZCSI_NODE_COPY_MEMBERSHIP_H

#include "node/copy/push.h"

/*
 * Destroy the copy of push->to and forget the node: its bookmark, its place in zcsi:members, and,
 * with the last copy, our own snapshots. Returns 0, or -1 with *err, and then all of it may be done
 * again. Runs programs, and waits for the other node. Any thread but the loop's.
 */
int membership_end(struct push *push, struct error *err);

#endif
