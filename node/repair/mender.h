/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPAIR_MENDER_H
#define ZCSI_NODE_REPAIR_MENDER_H

#include "node/stream/rounds.h"

struct mender;

/*
 * Start the mender. Its thread checks whether the members of this host's volumes with repair_after
 * answer, and replaces those that have been silent for longer than that. Returns 0, or -1 with
 * *err; call mender_stop after an error too.
 */
int mender_start(struct mender **ret, const struct node *node, struct loop *loop,
		 struct error *err);
/* Stop the thread, run the loop until it has ended, and free the mender, which may be NULL. */
void mender_stop(struct mender *mender);

#endif
