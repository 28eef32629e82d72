/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_BACKUP_H
#define ZCSI_CONTROLLER_BACKUP_H

/* The parameters backup, backup_every and backup_keep of CreateVolume. */

#include "controller/hosts.h"
#include "controller/request/parameters.h"

/*
 * Check, before a volume is created, that the node named by the parameter backup can keep a backup
 * of it. Returns 0, also without that parameter, or -1: ERR_INVALID_ARGUMENT if there is no such
 * node, the volume itself is to be on it, or backup_every is too short; ERR_RESOURCE_EXHAUSTED,
 * with the reason, if the node can keep no backups; ERR_UNAVAILABLE if the node's agent may be one
 * that did not answer.
 */
int backup_check(struct rpc_call *call, const struct parameters *parameters, struct error *err);
/*
 * Have the node named by the parameter backup make a backup of a volume, which is on node_id,
 * unless it has one, and wait until the backup exists. found: an earlier call has created the
 * volume, and nothing is done if the backup's node does not exist any more. Returns 0, or -1:
 * ERR_ABORTED if the deadline passes first, else with the error of the backup's node.
 */
int backup_add(struct rpc_call *call, const char *id, const char *node_id,
	       const struct parameters *parameters, bool found, struct error *err);

#endif
