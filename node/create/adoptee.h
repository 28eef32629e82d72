/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CREATE_ADOPTEE_H
#define ZCSI_NODE_CREATE_ADOPTEE_H

/* The dataset that AdoptDataset makes a volume of. Results live in the call's arena. */

#include "node/host/node.h"
#include "node/record/adoptable.h"
#include "proto/agent.h"

struct adoptee {
	struct adoptable found;
	const struct format *format; /* the format that it gets as a volume */
	int64_t size;                /* the size that it gets, in bytes */
	bool formatted;              /* the zvol has the filesystem of the format */
};

/* Returns the ZFS name of the dataset, in the arena. */
const char *adoptee_name(struct rpc_call *call, const AdoptDatasetRequest *req);
/*
 * Read the dataset, and check that it can become the volume of the request and is not in use.
 * Returns 0, or -1 with *err, which says what to do. Any worker thread; blocks.
 */
int adoptee_read(struct rpc_call *call, const AdoptDatasetRequest *req, struct adoptee *ret,
		 struct error *err);

#endif
