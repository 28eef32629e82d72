/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_FAILOVER_H
#define ZCSI_NODE_OWNER_FAILOVER_H

#include "node/move/place.h"
#include "proto/copy.h"

/*
 * Check that the copy on this host can become the volume after its owner was declared lost; place:
 * of the copy. Pure. Returns 0, or -1 with *err, which says what is wrong and what to do.
 */
int failover_check(const char *our_id, const struct place *place, const FailoverRequest *req,
		   struct error *err);

#endif
