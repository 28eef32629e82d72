/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_SILENT_H
#define ZCSI_NODE_OWNER_SILENT_H

#include "common/error.h"
#include "transport/rpc.h"

#define SILENT_MS 10000 /* timeout for the connection to a node and its answer */

/*
 * Check that a node that was declared lost does not answer, or answers that it does not use the
 * volume, and that it has not called Hear of this node since it was not reached. A node that does
 * not answer is not called again for half a minute, because many volumes may be taken over at once.
 * Blocks for SILENT_MS at most. Any worker thread. Returns 0, or -1 with ERR_FAILED_PRECONDITION;
 * ERR_DEADLINE_EXCEEDED if the call has less time than SILENT_MS.
 */
int silent_check(struct rpc_call *call, const char *id, const char *lineage, const char *lost,
		 struct error *err);

#endif
