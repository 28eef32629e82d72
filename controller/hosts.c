/* SPDX-License-Identifier: MPL-2.0 */
/*
 * What the agents know together.
 *
 * Invariant: a lookup says "not there" only when no agent could still have it. An agent that is
 * silent, or whose pool is missing, makes the answer an error, unless another one has the volume.
 */
#include "controller/hosts.h"

#include <stdbool.h>
#include <string.h>

#include "common/clock.h"

#define HURRY_MS 500

/* An agent is not silent because the caller gave it no time. */
static int fail_silent(const struct rpc_call *call, const struct answer *answer, const char *what,
		       struct error *err)
{
	bool hurried = answer->error.code == ERR_DEADLINE_EXCEEDED &&
		       time_left_ms(call->deadline) < HURRY_MS;

	return fail(err, hurried ? ERR_DEADLINE_EXCEEDED : ERR_UNAVAILABLE,
		    "agent '%s' did not say %s: %s; repeat when it is back, or take it off --agent",
		    agent_endpoint(answer->agent), what, answer->error.text);
}

/* The host has no pool at all, and therefore nothing in it. */
static bool has_no_pool(struct rpc_call *call, const struct answer *answer)
{
	struct error ignored;
	struct host host;

	return answer->error.code == ERR_FAILED_PRECONDITION &&
	       host_of(call, answer->agent, &host, &ignored) == 0 && !*host.says->dataset;
}

static int check_nobody(struct rpc_call *call, const char *what, const struct answers *answers,
			struct error *err)
{
	for (size_t i = 0; i < answers->n; i++) {
		const struct answer *answer = &answers->list[i];
		if (answer->error.code == ERR_NOT_FOUND || has_no_pool(call, answer))
			continue;
		if (answer->error.code == ERR_FAILED_PRECONDITION)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "agent '%s' cannot say whether it has %s: %s",
				    agent_endpoint(answer->agent), what, answer->error.text);
		return fail_silent(call, answer,
				   arena_printf(&call->arena, "whether it has %s", what), err);
	}
	return 0;
}

int hosts_search(struct rpc_call *call, const struct search *search, const struct answer **ret,
		 struct error *err)
{
	struct answers answers = agents_ask_all(call, search->method, search->request);

	*ret = NULL;
	for (size_t i = 0; i < answers.n; i++) {
		const struct answer *answer = &answers.list[i];
		if (answer->error.code != ERR_OK)
			continue;
		if (*ret)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "%s exists twice, at agents '%s' and '%s': nothing is done to "
				    "it until one of the two is renamed or destroyed",
				    search->what, agent_endpoint((*ret)->agent),
				    agent_endpoint(answer->agent));
		*ret = answer;
	}
	return *ret ? 0 : check_nobody(call, search->what, &answers, err);
}

int owner_find(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err)
{
	GetDatasetRequest *request = new_get_dataset_request(&call->arena);
	const struct search search = {
		.method = "GetDataset",
		.request = &request->base,
		.what = arena_printf(&call->arena, "volume '%s'", volume_id),
	};
	const struct answer *answer;

	*ret = (struct owner){0};
	request->id = arena_strdup(&call->arena, volume_id);
	if (hosts_search(call, &search, &answer, err) < 0)
		return -1;
	if (!answer)
		return 0;
	const GetDatasetResponse *response = answer->response;
	if (!response->dataset || strcmp(response->dataset->id, volume_id) != 0)
		return fail(err, ERR_INTERNAL, "agent '%s' was asked for %s and answered another",
			    agent_endpoint(answer->agent), search.what);
	*ret = (struct owner){.agent = answer->agent, .dataset = response->dataset};
	return 0;
}

int owner_get(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err)
{
	if (owner_find(call, volume_id, ret, err) < 0)
		return -1;
	if (!ret->dataset)
		return fail(err, ERR_NOT_FOUND, "volume '%s' does not exist", volume_id);
	return 0;
}

int host_of(struct rpc_call *call, const struct agent *agent, struct host *ret, struct error *err)
{
	const GetHostRequest *request = new_get_host_request(&call->arena);

	ret->agent = agent;
	return agent_get_host(call, agent, request, &ret->says, err);
}

static struct answers ask_hosts(struct rpc_call *call)
{
	return agents_ask_all(call, "GetHost", &new_get_host_request(&call->arena)->base);
}

int hosts_all(struct rpc_call *call, struct hosts *ret, struct error *err)
{
	struct answers answers = ask_hosts(call);

	ret->n = answers.n;
	ret->list = arena_alloc(&call->arena, answers.n * sizeof(*ret->list));
	for (size_t i = 0; i < answers.n; i++) {
		const struct answer *answer = &answers.list[i];
		if (answer->error.code != ERR_OK)
			return fail_silent(call, answer, "what its host is", err);
		ret->list[i] = (struct host){.agent = answer->agent, .says = answer->response};
	}
	return 0;
}

int hosts_check_node(struct rpc_call *call, const char *node_id, struct error *err)
{
	struct answers answers = ask_hosts(call);
	const struct answer *silent = NULL;

	for (size_t i = 0; i < answers.n; i++) {
		const GetHostResponse *says = answers.list[i].response;
		if (answers.list[i].error.code != ERR_OK)
			silent = &answers.list[i];
		else if (strcmp(says->node_id, node_id) == 0)
			return 0;
	}
	if (silent)
		return fail_silent(call, silent,
				   arena_printf(&call->arena,
						"whether it is node '%s', which no other is",
						node_id),
				   err);
	return fail(err, ERR_NOT_FOUND,
		    "node '%s' does not exist: no agent has that --node-id; does --agent name all "
		    "of them?",
		    node_id);
}
