/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_PEERS_PEERS_H
#define ZCSI_NODE_PEERS_PEERS_H

/*
 * Connections to the agents of other nodes, by node id. The endpoints of --agent and --agents-file
 * are asked which nodes they are, and the answers are cached.
 */

#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "common/options.h"
#include "proto/agent.h"
#include "transport/client.h"
#include "transport/loop.h"
#include "transport/trust.h"

struct peers;

struct peers_options {
	const struct option_list *named; /* --agent */
	const char *file;                /* --agents-file, read for each dial; NULL: none */
	const struct trust *trust;       /* opened */
};

/*
 * Create the peers, without a connection yet. Call it on the loop's thread. The objects that
 * options point to must outlive *ret. Returns 0, or -1 with *err if an endpoint of --agent is
 * malformed.
 */
int peers_new(struct peers **ret, struct loop *loop, const struct peers_options *options,
	      struct error *err);
/*
 * Free the peers, which may be NULL, and the clients that were given back. Loop thread, when the
 * loop does not run, and no other thread is in a function of this header.
 */
void peers_free(struct peers *peers);

/*
 * *ret is a connection to the agent of a node, with limits_bulk. It is the caller's alone until
 * peers_hang_up. The agent has answered on it as this node, and with TLS its certificate has the
 * name node_id besides that of the endpoint's host. If the node is not found at the endpoint where
 * it was last, or was never looked for, all endpoints are asked.
 *
 * Call it on any thread but the loop's; the loop must be running. Blocks until the deadline, or
 * longer if the resolver does. Returns 0, or -1 with ERR_FAILED_PRECONDITION if there is no list of
 * agents, or two agents are this node; or with the reason why the node is not reached, mostly
 * ERR_UNAVAILABLE.
 */
int peers_dial(struct peers *peers, const char *node_id, int64_t deadline, struct client **ret,
	       struct error *err);
/*
 * Give back a client of peers_dial that has no call in flight. It is freed on the loop. Any thread
 * but the loop's.
 */
void peers_hang_up(struct peers *peers, struct client *client);

struct peers_host {
	const char *endpoint;
	const GetHostResponse *says; /* NULL: the agent did not answer */
};

/*
 * Ask all agents of the list about their hosts. *ret is the answers, in the arena, also of this
 * host if it is on the list. Any thread but the loop's; blocks like peers_dial. Returns 0, or -1
 * with *err if there is no list, or the deadline has passed before each agent could answer.
 */
int peers_survey(struct peers *peers, struct arena *arena, int64_t deadline,
		 struct peers_host **ret, size_t *ret_n, struct error *err);

#endif
