/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_ALONE_H
#define ZCSI_NODE_CHANGE_ALONE_H

/* The check that nothing on this host needs the dataset of a volume to keep its name. */

#include "node/host/node.h"

/*
 * Check that no dataset is below a volume, whose publications the caller has checked, and that
 * nothing on this host uses the volume. children: how many datasets agent_prove has counted.
 * Returns 0, or -1 with *err. Worker thread; runs programs.
 */
int alone_check(struct rpc_call *call, const struct dataset *volume, size_t children,
		struct error *err);

#endif
