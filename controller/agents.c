/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Connections to the agents. The list is fixed at start; whether an agent is there shows when it
 * is asked. Invariant: every call begun is finished before a function here returns.
 *
 * What an answer means is for hosts.c and the handlers.
 */
#include "controller/agents.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "transport/client.h"

#define ASK_MS       120000 /* when the caller set no deadline */
#define SLACK_MS_MAX 1000

struct agent {
	struct client *client;
};

struct agents {
	size_t n;
	struct agent list[];
};

static int check_once(const struct option_list *endpoints, struct error *err)
{
	for (size_t i = 0; i < endpoints->n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(endpoints->values[i], endpoints->values[k]) == 0)
				return fail(err, ERR_INVALID_ARGUMENT,
					    "--agent '%s' is given twice", endpoints->values[i]);
		}
	}
	return 0;
}

int agents_new(struct agents **ret, struct loop *loop, const struct option_list *endpoints,
	       bool allow_plaintext, struct error *err)
{
	if (check_once(endpoints, err) < 0)
		return -1;
	struct agents *agents = mem_alloc(sizeof(*agents) + endpoints->n * sizeof(agents->list[0]));
	for (; agents->n < endpoints->n; agents->n++) {
		const char *endpoint = endpoints->values[agents->n];
		if (client_new(&agents->list[agents->n].client, loop, endpoint, allow_plaintext,
			       NULL, err) < 0) {
			agents_free(agents);
			return fail_context(err, "--agent '%s'", endpoint);
		}
	}
	*ret = agents;
	return 0;
}

void agents_free(struct agents *agents)
{
	if (!agents)
		return;
	for (size_t i = 0; i < agents->n; i++)
		client_free(agents->list[i].client);
	free(agents);
}

const char *agent_endpoint(const struct agent *agent)
{
	return client_endpoint(agent->client);
}

/* Before the server gives up on the call, so that the caller hears which agent was silent. */
static int64_t deadline_of(const struct rpc_call *call)
{
	if (call->deadline == NO_DEADLINE)
		return now_ms() + ASK_MS;
	int64_t slack = time_left_ms(call->deadline) / 5;
	return call->deadline - (slack < SLACK_MS_MAX ? slack : SLACK_MS_MAX);
}

/* A silent agent takes half the time that is left, not all: the rest is for acting on answers. */
static int64_t deadline_of_all(const struct rpc_call *call)
{
	return now_ms() + time_left_ms(deadline_of(call)) / 2;
}

int agent_ask(struct rpc_call *call, const struct agent *agent, const char *method,
	      const ProtobufCMessage *request, void *ret_response, struct error *err)
{
	struct client_call *asked =
		client_begin(agent->client, &call->arena, &zcsi__v1__agent__descriptor, method,
			     request, deadline_of(call));

	return client_finish(asked, ret_response, err);
}

struct answers agents_ask_all(struct rpc_call *call, const char *method,
			      const ProtobufCMessage *request)
{
	const struct agents *agents = call->app;
	struct arena *arena = &call->arena;
	struct client_call **asked = arena_alloc(arena, agents->n * sizeof(*asked));
	struct answer *list = arena_alloc(arena, agents->n * sizeof(*list));
	int64_t deadline = deadline_of_all(call);

	for (size_t i = 0; i < agents->n; i++)
		asked[i] = client_begin(agents->list[i].client, arena, &zcsi__v1__agent__descriptor,
					method, request, deadline);
	for (size_t i = 0; i < agents->n; i++) {
		list[i].agent = &agents->list[i];
		client_finish(asked[i], &list[i].response, &list[i].error);
	}
	return (struct answers){.list = list, .n = agents->n};
}
