/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_RULES_H
#define ZCSI_NODE_MOVE_RULES_H

/*
 * The rules by which a volume gets another owner. our_id: of this node; place: of the volume in its
 * pool. Pure. Functions return 0, or -1 with *err, which says what is wrong and what to do.
 */

#include "node/move/place.h"
#include "proto/copy.h"

/*
 * On the former owner: check that the volume was given up for the node that sent the request. *ret
 * is the last snapshot of the volume.
 */
int rules_given_up(const char *our_id, const struct place *place, const GetMoveRequest *req,
		   const struct place_snapshot **ret, struct error *err);
/* Fail because a copy was written to after this snapshot. Always returns -1. */
int rules_fail_written(const char *our_id, const struct place *place,
		       const struct place_snapshot *end, struct error *err);
/* Check that a copy that ends with this snapshot can become a volume. */
int rules_usable(const struct place *place, const struct place_snapshot *end, struct error *err);
/* On the next owner: check that its copy can become the volume; the former owner is asked later. */
int rules_take(const char *our_id, const struct place *place, const PromoteRequest *req,
	       struct error *err);

#endif
