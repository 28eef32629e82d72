/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_ACCEPT_H
#define ZCSI_NODE_OWNER_ACCEPT_H

#include "node/host/node.h"
#include "proto/copy.h"

/*
 * Check that the copy may be promised to the node of the request at its epoch. Pure. Returns 0,
 * also if the copy was promised so before, or -1 with *err.
 */
int accept_check(const CopyState *copy, const AcceptRequest *req, struct error *err);

#endif
