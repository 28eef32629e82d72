/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Sending requests to agents. hosts.c and the handlers interpret the answers.
 *
 * Invariant: every request begun is finished before the function that began it returns.
 */
#include "controller/agents_ask.h"

#include "common/clock.h"
#include "controller/agents_inside.h"
#include "transport/message.h"

#define ASK_MS       120000 /* timeout of a request if the RPC has no deadline */
#define SLACK_MS_MAX 1000   /* longest margin between a request's deadline and its RPC's */
#define DOWN_MS      1000   /* timeout of an agent that did not answer the last roll call */

/*
 * Returns the RPC's deadline minus a margin, so that an error that names an agent without an
 * answer still reaches the client. The margin is a fifth of the time left, at most SLACK_MS_MAX.
 */
static int64_t deadline_of(const struct rpc_call *call)
{
	if (call->deadline == NO_DEADLINE)
		return now_ms() + ASK_MS;
	int64_t slack = time_left_ms(call->deadline) / 5;
	return call->deadline - (slack < SLACK_MS_MAX ? slack : SLACK_MS_MAX);
}

/*
 * Returns the deadline of a request to all agents. It leaves half of the time for acting on the
 * answers of the others when one agent does not answer.
 */
static int64_t deadline_of_all(const struct rpc_call *call)
{
	int64_t deadline = deadline_of(call);

	return deadline - time_left_ms(deadline) / 2;
}

struct view {
	bool down;
	char *refusal; /* why the agent is refused, in the arena; NULL if it is not */
};

static struct view look_at(struct rpc_call *call, const struct agent *agent)
{
	struct agents *agents = call->app;
	scoped_lock(&agents->roster.lock);
	const struct agent_state *state = &agent->state;

	return (struct view){.down = state->asked && !state->up,
			     .refusal = state->refusal ? arena_strdup(&call->arena, state->refusal)
						       : NULL};
}

static struct client_call *begin(struct rpc_call *call, const struct agent *agent,
				 const char *method, const ProtobufCMessage *request,
				 int64_t deadline)
{
	return client_begin(agent->client, &call->arena, &zcsi__v1__agent__descriptor, method,
			    request, deadline);
}

static int ask(struct rpc_call *call, const struct agent *agent, const char *method,
	       const ProtobufCMessage *request, int64_t deadline, void *ret_response,
	       struct error *err)
{
	struct view view = look_at(call, agent);

	if (view.refusal)
		return fail(err, ERR_FAILED_PRECONDITION, "%s", view.refusal);
	return client_finish(begin(call, agent, method, request, deadline), ret_response, err);
}

int agent_ask(struct rpc_call *call, const struct agent *agent, const char *method,
	      const ProtobufCMessage *request, void *ret_response, struct error *err)
{
	return ask(call, agent, method, request, deadline_of(call), ret_response, err);
}

static int64_t earlier(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

int agent_ask_until(struct rpc_call *call, const struct agent *agent, const char *method,
		    const ProtobufCMessage *request, int64_t until, void *ret_response,
		    struct error *err)
{
	return ask(call, agent, method, request, earlier(until, deadline_of(call)), ret_response,
		   err);
}

int agent_try(struct rpc_call *call, const struct agent *agent, const char *method,
	      const ProtobufCMessage *request, void *ret_response, struct error *err)
{
	if (look_at(call, agent).down)
		return fail(err, ERR_UNAVAILABLE, "'%s' is down", agent_endpoint(agent));
	return ask(call, agent, method, request, deadline_of_all(call), ret_response, err);
}

static struct answers ask_each(struct rpc_call *call, const struct agent *const *list, size_t n,
			       const char *method, const ProtobufCMessage *request,
			       int64_t deadline)
{
	struct client_call **asked = arena_alloc(&call->arena, (n + 1) * sizeof(*asked));
	struct answer *answers = arena_alloc(&call->arena, (n + 1) * sizeof(*answers));
	int64_t moment = now_ms() + DOWN_MS;

	for (size_t i = 0; i < n; i++) {
		const struct view view = look_at(call, list[i]);
		answers[i].agent = list[i];
		if (view.refusal)
			fail(&answers[i].error, ERR_FAILED_PRECONDITION, "%s", view.refusal);
		else
			asked[i] = begin(call, list[i], method, request,
					 view.down ? earlier(moment, deadline) : deadline);
	}
	for (size_t i = 0; i < n; i++)
		if (asked[i])
			client_finish(asked[i], &answers[i].response, &answers[i].error);
	return (struct answers){.list = answers, .n = n, .known = n};
}

struct answers agents_ask_all(struct rpc_call *call, const char *method,
			      const ProtobufCMessage *request)
{
	return agents_ask_until(call, method, request, NULL, NULL, NO_DEADLINE);
}

/* Returns the agent's last answer to a roll call, in the arena; NULL if it has answered none. */
static const GetHostResponse *said_by(struct rpc_call *call, const struct agent *agent)
{
	struct agents *agents = call->app;
	scoped_lock(&agents->roster.lock);
	const struct agent_state *state = &agent->state;
	ProtobufCMessage *said = NULL;
	struct error ignored;

	if (state->said)
		message_decode(&call->arena, &zcsi__v1__get_host_response__descriptor, state->said,
			       state->said_size, &said, &ignored);
	return (const GetHostResponse *)said;
}

struct said agents_said(struct rpc_call *call)
{
	struct agents *agents = call->app;
	const struct agent_set *set = roster_pin(&agents->roster, call)->set;
	struct said said = {.n = 0};

	said.list = arena_alloc(&call->arena, (set->n + 1) * sizeof(*said.list));
	for (size_t i = 0; i < set->n; i++) {
		const GetHostResponse *host = said_by(call, set->list[i]);
		if (host)
			said.list[said.n++] = host;
	}
	return said;
}

struct answers agents_ask_until(struct rpc_call *call, const char *method,
				const ProtobufCMessage *request, agent_filter *chooses,
				const void *arg, int64_t until)
{
	struct agents *agents = call->app;
	const struct agent_set *set = roster_pin(&agents->roster, call)->set;
	const struct agent **list = arena_alloc(&call->arena, (set->n + 1) * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		if (!chooses || chooses(call, said_by(call, set->list[i]), arg))
			list[n++] = set->list[i];
	struct answers answers =
		ask_each(call, list, n, method, request, earlier(until, deadline_of_all(call)));
	answers.known = set->n;
	return answers;
}
