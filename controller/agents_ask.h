/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENTS_ASK_H
#define ZCSI_CONTROLLER_AGENTS_ASK_H

/*
 * Requests to one agent or to several at once. A request blocks until the answer comes or until
 * shortly before the RPC's deadline, so only handlers on workers may send one. Answers live in the
 * call's arena.
 */

#include "controller/agents.h"

/* Send a request to an agent. *ret_response is the answer. Returns 0, or -1 with *err. */
int agent_ask(struct rpc_call *call, const struct agent *agent, const char *method,
	      const ProtobufCMessage *request, void *ret_response, struct error *err);
/*
 * Like agent_ask, for at most half of the RPC's remaining time; ERR_UNAVAILABLE at once if the
 * agent is down.
 */
int agent_try(struct rpc_call *call, const struct agent *agent, const char *method,
	      const ProtobufCMessage *request, void *ret_response, struct error *err);

/* Like agent_ask, with a now_ms() value until which it may wait; the RPC's deadline counts too. */
int agent_ask_until(struct rpc_call *call, const struct agent *agent, const char *method,
		    const ProtobufCMessage *request, int64_t until, void *ret_response,
		    struct error *err);

/* The answers of agents to GetHost in the last roll calls that they answered, in the arena. */
struct said {
	const GetHostResponse **list;
	size_t n;
};

/* Returns the last answer to a roll call of each agent that has answered one. Asks none of them. */
struct said agents_said(struct rpc_call *call);

struct answer {
	const struct agent *agent;
	void *response;     /* message of the method's output type */
	struct error error; /* code ERR_OK, or the reason why there is no response */
};

struct answers {
	struct answer *list; /* an answer of each agent asked; same order throughout an RPC */
	size_t n;
	size_t known; /* how many agents are known, asked or not */
};

/*
 * Send a request to all agents at once, and wait for at most half of the RPC's remaining time, or
 * one second for an agent that is down.
 */
struct answers agents_ask_all(struct rpc_call *call, const char *method,
			      const ProtobufCMessage *request);

/*
 * Returns true if an agent is to be asked. said: its answer to GetHost in the last roll call that
 * it answered, in the arena; NULL if it has answered none.
 */
typedef bool agent_filter(struct rpc_call *call, const GetHostResponse *said, const void *arg);
/*
 * Like agents_ask_all, but only for the agents that the filter chooses, or all if it is NULL, and
 * only up to the now_ms() value `until`.
 */
struct answers agents_ask_until(struct rpc_call *call, const char *method,
				const ProtobufCMessage *request, agent_filter *chooses,
				const void *arg, int64_t until);

#endif
