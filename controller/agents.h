/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENTS_H
#define ZCSI_CONTROLLER_AGENTS_H

/*
 * The agents, and how they are asked, one or all at once. Asking is for handlers on workers: it
 * blocks, until an answer or a moment before the caller's deadline. Answers live in the call's
 * arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <protobuf-c/protobuf-c.h>

#include "common/error.h"
#include "common/options.h"
#include "proto/agent.h"
#include "transport/loop.h"
#include "transport/rpc.h"
#include "transport/trust.h"

struct agents;
struct agent;

struct agents_options {
	const struct option_list *named; /* --agent */
	const char *file;                /* --agents-file; NULL: none */
	const struct trust *trust;
	int64_t every_ms;      /* between two roll calls (rollcall.h) */
	int64_t lost_after_ms; /* --assume-lost; 0: never */
	bool partial_lists;
};

/*
 * Nothing is connected before agents_start. *err names an endpoint of no form, or given twice. What
 * the options point to lasts as long.
 */
int agents_new(struct agents **ret, struct loop *loop, const struct agents_options *options,
	       struct error *err);
/* Introduce them, and keep watch. Calls that come meanwhile wait. */
int agents_start(struct agents *agents, struct error *err);
/* On the loop's thread, when no call is under way and the loop does not run. */
void agents_free(struct agents *agents);
const char *agent_endpoint(const struct agent *agent);
bool agents_partial_lists(const struct rpc_call *call);
/* For the monitor (transport/monitor.h). */
void agents_metrics(void *agents, FILE *out);

/* An agent is who it was (rollcall.h). */
int agent_recognise(const struct rpc_call *call, const struct agent *agent,
		    const GetHostResponse *says, struct error *err);

/* Returns the agent that had the volume when it was last found, or NULL (owner_cache.h). */
const struct agent *agents_cached_owner(struct rpc_call *call, const char *id);
void agents_remember(struct rpc_call *call, const char *id, const struct agent *agent);

int agent_ask(struct rpc_call *call, const struct agent *agent, const char *method,
	      const ProtobufCMessage *request, void *ret_response, struct error *err);
/* With half the time that is left, and not at all when it missed the last roll call. */
int agent_try(struct rpc_call *call, const struct agent *agent, const char *method,
	      const ProtobufCMessage *request, void *ret_response, struct error *err);

struct answer {
	const struct agent *agent;
	void *response;     /* the method's output type */
	struct error error; /* code ERR_OK, or why there is no response */
};

struct answers {
	struct answer *list; /* one for every agent, in the same order throughout a call */
	size_t n;
};

/* To all, at once; they have half the time too, those who missed the last roll call a moment. */
struct answers agents_ask_all(struct rpc_call *call, const char *method,
			      const ProtobufCMessage *request);

#endif
