/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_ASK_H
#define ZCSI_NODE_MOVE_ASK_H

#include "node/host/node.h"

#define ASK_MS 60000 /* timeout of a call to another node */

/*
 * Call a method of zcsi.v1.Replica of another node. *ret is the response, in the arena. Returns 0,
 * or -1 with the error of the other node, or with the reason why it was not reached. Blocks for up
 * to ASK_MS, so not on the loop's thread.
 */
int ask_node(const struct node *node, const char *node_id, struct arena *arena, const char *method,
	     const ProtobufCMessage *request, void *ret, struct error *err);
/* Like ask_node, but with a deadline in place of ASK_MS. */
int ask_node_until(const struct node *node, const char *node_id, struct arena *arena,
		   const char *method, const ProtobufCMessage *request, int64_t deadline, void *ret,
		   struct error *err);

#endif
