/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Calling another node once, over a connection that is closed after the call.
 *
 * Invariant: with TLS the other side has shown a certificate for the node that is called, so its
 * answer can be trusted (node/peers/peers.h).
 */
#include "node/move/ask.h"

#include "common/clock.h"
#include "node/peers/peers.h"
#include "proto/copy.h"

#define DIAL_MS 10000

int ask_node_until(const struct node *node, const char *node_id, struct arena *arena,
		   const char *method, const ProtobufCMessage *request, int64_t deadline, void *ret,
		   struct error *err)
{
	int64_t dial = now_ms() + DIAL_MS;
	struct client *client;

	if (peers_dial(node->peers, node_id, dial < deadline ? dial : deadline, &client, err) < 0)
		return -1;
	int failed = client_finish(client_begin(client, arena, &zcsi__v1__replica__descriptor,
						method, request, deadline),
				   ret, err);
	peers_hang_up(node->peers, client);
	return failed;
}

int ask_node(const struct node *node, const char *node_id, struct arena *arena, const char *method,
	     const ProtobufCMessage *request, void *ret, struct error *err)
{
	return ask_node_until(node, node_id, arena, method, request, now_ms() + ASK_MS, ret, err);
}
