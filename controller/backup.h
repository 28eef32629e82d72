/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_BACKUP_H
#define ZCSI_CONTROLLER_BACKUP_H

/* The parameters backup, backup_every and backup_keep of CreateVolume. */

#include "controller/hosts.h"
#include "controller/request/parameters.h"

/*
 * Check, before a volume is created, that the node of its backup can have it. Returns 0, also
 * without such a parameter, or -1: ERR_INVALID_ARGUMENT if that is no node, or one that has the
 * volume itself; ERR_RESOURCE_EXHAUSTED if it can have no backups, with the reason;
 * ERR_UNAVAILABLE if it is not known.
 */
int backup_check(struct rpc_call *call, const struct parameters *parameters, struct error *err);
/*
 * Have that node keep a backup of a volume, which is on node_id, unless it has one, and wait until
 * it is there. found: the volume was created earlier, and if the node is gone since, nothing is
 * done. Returns 0, or -1: ERR_ABORTED if the deadline passes before, else as the node says.
 */
int backup_add(struct rpc_call *call, const char *id, const char *node_id,
	       const struct parameters *parameters, bool found, struct error *err);

#endif
