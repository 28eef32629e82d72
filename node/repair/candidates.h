/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPAIR_CANDIDATES_H
#define ZCSI_NODE_REPAIR_CANDIDATES_H

#include "node/host/node.h"
#include "node/peers/peers.h"
#include "node/record/members.h"

/*
 * Returns the ids of the nodes that can have a further copy of a volume of this host, the best
 * first, in the arena: of those that answer, have OpenZFS, a pool without a problem and more space
 * than the volume uses, and are neither members nor owed. Pure.
 */
const char **candidates_choose(struct arena *arena, const struct node *node,
			       const struct peers_host *hosts, size_t n_hosts,
			       const struct dataset *volume, const struct members *members,
			       size_t *ret_n);

#endif
