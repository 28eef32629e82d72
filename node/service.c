/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The tables of methods, from the lists in service.h.
 *
 * Invariant: what is INLINE there neither runs a program nor waits; the rest may.
 */
#include "node/service.h"

RPC_SERVICE(identity_service, csi__v1__identity__descriptor, IDENTITY_METHODS);
RPC_SERVICE(node_service, csi__v1__node__descriptor, NODE_METHODS);
RPC_SERVICE(agent_service, zcsi__v1__agent__descriptor, AGENT_METHODS);
