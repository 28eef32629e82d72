/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_SILENT_H
#define ZCSI_NODE_OWNER_SILENT_H

#include "common/error.h"
#include "transport/rpc.h"

#define SILENT_MS 10000 /* so long a node may be asked */

/*
 * Check that a node which was declared lost does not answer this one, or that it says itself that
 * it does not use the volume; and that this one has not heard from it meanwhile. That a node does
 * not answer is remembered for half a minute, because many volumes are taken over at once. Blocks
 * for SILENT_MS at most. Any worker thread. Returns 0, or -1 with ERR_FAILED_PRECONDITION;
 * ERR_DEADLINE_EXCEEDED if the call has less time than that.
 */
int silent_check(struct rpc_call *call, const char *id, const char *lineage, const char *lost,
		 struct error *err);

#endif
