/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_KNOWN_H
#define ZCSI_NODE_OWNER_KNOWN_H

#include "node/record/dataset.h"
#include "transport/rpc.h"

/*
 * *ret is the volume of this lineage on this host, in the arena, also if it was deleted and copies
 * of it are not dropped yet; NULL if there is none. Returns 0, or -1 with *err if the pool cannot
 * be read. Any worker thread.
 */
int known_volume(struct rpc_call *call, const char *id, const char *lineage, struct dataset **ret,
		 struct error *err);

#endif
