/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_ATTACH_H
#define ZCSI_NODE_ATTACH_ATTACH_H

/* The ways to attach a volume to this host; a NodeStageVolume request selects one. */

#include "node/host/node.h"
#include "node/attach/staging.h"
#include "proto/csi.h"

/*
 * Find the volume of a request and fill *ret; the caller adds path, key, attrs and options. The
 * strings live in the call's arena. Returns 0, or -1 with *err: ERR_NOT_FOUND if the volume should
 * be in this host's pool and is not, ERR_INVALID_ARGUMENT if the context names no share,
 * ERR_FAILED_PRECONDITION if this host cannot attach the volume in the selected way.
 */
int attach_find(struct rpc_call *call, const NodeStageVolumeRequest *req, struct staging *ret,
		struct error *err);

#endif
