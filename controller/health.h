/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_HEALTH_H
#define ZCSI_CONTROLLER_HEALTH_H

/* The health of a volume and of its host's pool. */

#include "controller/hosts.h"
#include "proto/csi.h"

/* The one word for CSI 1.12; twin is another host that has the same volume, or NULL. */
VolumeCondition *volume_condition(struct arena *arena, const struct host *host,
				  const struct host *twin);

#endif
