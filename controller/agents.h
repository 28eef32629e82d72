/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENTS_H
#define ZCSI_CONTROLLER_AGENTS_H

/*
 * The agents, and requests to one of them or to all at once. A request blocks until the answer
 * comes or until shortly before the RPC's deadline, so only handlers on workers may send one.
 * Answers live in the call's arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/options.h"
#include "proto/agent.h"
#include "transport/client.h"
#include "transport/loop.h"
#include "transport/rpc.h"
#include "transport/trust.h"

struct agents;
struct agent;
struct roster;

struct agents_options {
	const struct option_list *named; /* --agent; some may be dns:/// (common/agents_dns.h) */
	const char *file;                /* --agents-file; NULL if not given */
	const char *node;                /* --node; NULL if not given */
	const struct trust *trust;
	int64_t every_ms, lost_after_ms;  /* --roll-call; --assume-lost, 0: never; in ms */
	int64_t forget_after_ms;          /* --forget-after; in ms */
	bool partial_lists;               /* --partial-lists */
	const struct option_list *forget; /* --forget; NULL: none */
};

/*
 * Returns 0 with *ret set, or -1 with *err if an endpoint is invalid or given twice. No connection
 * is made before agents_start. All that the options point to must outlive *ret.
 */
int agents_new(struct agents **ret, struct loop *loop, const struct agents_options *options,
	       struct error *err);
/* Start the first roll call and the watcher thread. RPCs wait until that roll call has ended. */
int agents_start(struct agents *agents, struct error *err);
/* Read --agents-file again soon; returns at once. Does nothing before agents_start. */
void agents_reread(struct agents *agents);
/* Free the agents. Call it on the loop's thread, with no RPC in flight and the loop not running. */
void agents_free(struct agents *agents);
const char *agent_endpoint(const struct agent *agent);
/* Returns the list of agents, for the functions of roster_absent.h. */
struct roster *agents_roster(const struct rpc_call *call);
/*
 * Returns the client of the zcsi-node to which calls of csi.v1.Node are passed; NULL without
 * --node.
 */
struct client *agents_node(const struct rpc_call *call);
bool agents_partial_lists(const struct rpc_call *call);
/* Write the metrics of the agents, for transport/monitor.h. agents: the struct agents. */
void agents_metrics(void *agents, FILE *out);

/* Check the identity in an answer to GetHost; see rollcall_recognise (rollcall.h). */
int agent_recognise(const struct rpc_call *call, const struct agent *agent,
		    const GetHostResponse *says, struct error *err);

/*
 * Returns the agent that had the volume when it was last found, or NULL. The volume may have moved
 * since.
 */
const struct agent *agents_cached_owner(struct rpc_call *call, const char *id);
void agents_remember(struct rpc_call *call, const char *id, const struct agent *agent);

#endif
