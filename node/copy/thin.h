/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_THIN_H
#define ZCSI_NODE_COPY_THIN_H

#include "node/copy/history.h"
#include "proto/copy.h"

#define THIN_MOST 256 /* as in ThinCopyRequest */

/*
 * Returns a request that names the snapshots of a copy that are to go, perhaps none, in the arena;
 * the caller sets what else it has. copy: NULL if there is none. history: of the volume, of a time
 * when no other copy was pushed since. Runs no program.
 */
ThinCopyRequest *thin_request(struct arena *arena, const CopyState *copy,
			      const struct history *history);

#endif
