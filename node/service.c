/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The tables of methods, generated from the lists in service.h.
 *
 * Invariant: an INLINE method neither runs a program nor waits, because it runs on the loop.
 */
#include "node/service.h"

RPC_SERVICE(identity_service, csi__v1__identity__descriptor, IDENTITY_METHODS);
RPC_SERVICE(node_service, csi__v1__node__descriptor, NODE_METHODS);
RPC_SERVICE(registration_service, pluginregistration__registration__descriptor,
	    REGISTRATION_METHODS);
RPC_SERVICE(agent_service, zcsi__v1__agent__descriptor, AGENT_METHODS);
RPC_SERVICE(copy_service, zcsi__v1__copy__descriptor, COPY_METHODS);
RPC_SERVICE(replica_service, zcsi__v1__replica__descriptor, REPLICA_METHODS);
RPC_SERVICE(backup_service, zcsi__v1__backup__descriptor, BACKUP_METHODS);
