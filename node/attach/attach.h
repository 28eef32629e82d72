/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_ATTACH_H
#define ZCSI_NODE_ATTACH_ATTACH_H

/* The ways in which a volume comes to this host, of which a NodeStageVolume request names one. */

#include "node/host/node.h"
#include "node/attach/staging.h"
#include "proto/csi.h"

/*
 * Fill *ret with all that staging needs but the path and the attributes. ERR_NOT_FOUND when the
 * volume should be in our pool and is not; ERR_FAILED_PRECONDITION when this host cannot attach it
 * that way.
 */
int attach_find(struct rpc_call *call, const NodeStageVolumeRequest *req, struct staging *ret,
		struct error *err);

#endif
