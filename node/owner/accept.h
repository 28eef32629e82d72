/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_ACCEPT_H
#define ZCSI_NODE_OWNER_ACCEPT_H

#include "node/host/node.h"
#include "proto/copy.h"

/*
 * Promise the copy on this host, which has this dataset, to a node at an epoch. Runs a program.
 * Returns 0, or -1 with *err.
 */
int accept_record(struct arena *arena, const char *dataset, const char *node, int64_t epoch,
		  struct error *err);
/* Check that the copy may be promised so; 0 also if it was. Pure. Returns 0, or -1 with *err. */
int accept_check(const CopyState *copy, const AcceptRequest *req, struct error *err);

#endif
