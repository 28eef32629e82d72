/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPLICA_PROPERTIES_H
#define ZCSI_NODE_REPLICA_PROPERTIES_H

#include "common/mem.h"
#include "node/zfs/zfs.h"
#include "proto/agent.h"
#include "proto/copy.h"

/* Add the properties of the copy to *to. They point into the header and the arena. */
void replica_properties(struct arena *arena, const char *parent, const ReceiveHeader *header,
			struct zfs_properties *to);

#endif
