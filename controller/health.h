/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_HEALTH_H
#define ZCSI_CONTROLLER_HEALTH_H

/* The health of a volume, which includes that of its host's pool. */

#include "controller/hosts.h"
#include "proto/csi.h"

/*
 * Returns the volume condition, which CSI 1.12 has instead of the health RPCs, in the arena. twin:
 * another host that has a volume with the same id, or NULL.
 */
VolumeCondition *volume_condition(struct arena *arena, const struct host *host,
				  const struct host *twin);

#endif
