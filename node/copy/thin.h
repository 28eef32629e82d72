/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_THIN_H
#define ZCSI_NODE_COPY_THIN_H

#include "node/copy/history.h"
#include "proto/copy.h"

#define THIN_MOST 256 /* snapshots in a ThinCopyRequest */

/*
 * Returns a request that names the snapshots of a copy to destroy, perhaps none, in the arena; the
 * caller sets its other fields. copy: NULL if there is none. history: of the volume, read after the
 * last push of any other copy. Runs no program.
 */
ThinCopyRequest *thin_request(struct arena *arena, const CopyState *copy,
			      const struct history *history);

#endif
