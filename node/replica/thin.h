/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPLICA_THIN_H
#define ZCSI_NODE_REPLICA_THIN_H

#include "common/mem.h"
#include "proto/copy.h"

#define THIN_MOST 256 /* snapshots of a request; their names are one word of a command line */

/*
 * Returns the word for `zfs destroy`, "copy@a,b", in the arena, or NULL if nothing is to go. copy:
 * as it was just read.
 */
char *thin_word(struct arena *arena, const CopyState *copy, const ThinCopyRequest *req);

#endif
