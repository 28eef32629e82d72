/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CSI_IDLE_H
#define ZCSI_NODE_CSI_IDLE_H

/*
 * The mark of an idle publication (node/record/publication.h) on this node. A staging removes the
 * mark. The end of the last staging sets it, and removes zcsi:staged. Both functions run one zfs,
 * if a property changes. Any worker thread, in a call that is keyed by the volume.
 */

#include "node/host/node.h"

/*
 * Remove the mark before a volume of this node's pool is staged; access_mode: that of the request.
 * *ret is the dataset as it is then, in the arena. Returns 0, or -1 with *err, which is
 * ERR_FAILED_PRECONDITION if another node has the volume and this one has no publication.
 */
int idle_end(struct rpc_call *call, const struct dataset *dataset, int access_mode,
	     const struct dataset **ret, struct error *err);
/*
 * Set the mark, and remove a zcsi:staged of this boot, if a volume of this node's pool is not
 * mounted here any more, except for its export. A failure is only logged, because NodeUnstageVolume
 * has unmounted the volume anyway.
 */
void idle_begin(struct rpc_call *call, const struct dataset *dataset);

#endif
