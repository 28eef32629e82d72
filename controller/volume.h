/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_VOLUME_H
#define ZCSI_CONTROLLER_VOLUME_H

/* A volume as CSI sees it. What is made here is in the arena. */

#include <stdbool.h>

#include "common/volume/map.h"
#include "controller/hosts.h"
#include "proto/agent.h"
#include "proto/csi.h"

/*
 * The key of parameters, volume_context and publish_context that says how a node gets to the data:
 * it is mounted where it is, or by NFS on other nodes.
 */
#define ATTACH_KEY   "attach"
#define ATTACH_LOCAL "local"
#define ATTACH_NFS   "nfs"

const char *volume_attach(struct arena *arena, const Dataset *dataset);
/* The volume_context of a share that another storage exports, in democratic-csi's words. */
bool volume_is_foreign(const struct map *context);

/* The same answer for a volume for as long as it lives, but for its capacity. */
Volume *volume_of(struct arena *arena, const Dataset *dataset, const GetHostResponse *owner);
char **volume_published_nodes(struct arena *arena, const Dataset *dataset);

#endif
