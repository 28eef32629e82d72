/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_VOLUME_H
#define ZCSI_CONTROLLER_VOLUME_H

/* A volume as CSI sees it. What is made here is in the arena. */

#include "controller/hosts.h"
#include "proto/agent.h"
#include "proto/csi.h"

/* The one key of volume_context and publish_context that says how the node gets to the data. */
#define ATTACH_KEY   "attach"
#define ATTACH_LOCAL "local"

/* The same answer for a volume for as long as it lives, but for its capacity. */
Volume *volume_of(struct arena *arena, const Dataset *dataset, const GetHostResponse *owner);
char **volume_published_nodes(struct arena *arena, const Dataset *dataset);
/* What is known to be wrong; twin is another host that has the same volume, or NULL. */
VolumeCondition *volume_condition(struct arena *arena, const struct host *host,
				  const struct host *twin);

#endif
