/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Lookups of volumes, snapshots and hosts on all agents.
 *
 * Invariant: "not found" is reported only if no agent can have the object. If an agent does not
 * answer, or its pool cannot be read, the lookup fails, unless another agent has the object. The
 * lookup also fails if an agent that has left the list had the object. If an agent comes onto the
 * list while the others are asked, all are asked again.
 */
#include "controller/hosts.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/clock.h"
#include "controller/claim.h"
#include "controller/duplicate.h"
#include "controller/roster_absent.h"

#define REMOVE   ", or remove it from the list of agents" /* end of an error text, a remedy */
#define HURRY_MS 500 /* with less time left, the RPC's deadline caused the timeout */

/*
 * Fail because an agent did not report `what`. ERR_DEADLINE_EXCEEDED if the RPC's deadline gave the
 * agent too little time, perhaps because it waited for another call (ERR_ABORTED); else
 * ERR_UNAVAILABLE. ERR_FAILED_PRECONDITION if the agent is refused. remedy: the end of the text,
 * for an agent that stays down.
 */
static int fail_down(struct rpc_call *call, const struct answer *answer, const char *what,
		     const char *remedy, struct error *err)
{
	const enum error_code code = answer->error.code;
	const bool hurried = (code == ERR_DEADLINE_EXCEEDED || code == ERR_ABORTED) &&
			     time_left_ms(call->deadline) < HURRY_MS;
	const char *endpoint = agent_endpoint(answer->agent);

	if (code == ERR_FAILED_PRECONDITION)
		return fail(err, ERR_FAILED_PRECONDITION, "agent '%s' cannot report %s: %s",
			    endpoint, what, answer->error.text);
	if (hurried)
		return fail(err, ERR_DEADLINE_EXCEEDED,
			    "agent '%s' did not report %s: %s; try again", endpoint, what,
			    answer->error.text);
	return fail(err, ERR_UNAVAILABLE,
		    "agent '%s' did not report %s: %s; %stry again when it is up%s", endpoint, what,
		    answer->error.text,
		    roster_node_text(agents_roster(call), answer->agent, &call->arena), remedy);
}

/*
 * Returns the end of an error text: what to do if an agent stays down. An existing volume may be
 * on the agent's host, which may be lost. The name of a new object is free once that host is off
 * the list.
 */
static const char *remedy_of(struct rpc_call *call, const struct search *search)
{
	if (search->kind != NAME_VOLUME || *search->claim)
		return REMOVE;
	return arena_printf(&call->arena, "; 'zcsi why %s' says what to do if it stays down",
			    search->name);
}

static int check_any_agent(const struct answers *answers, struct error *err)
{
	if (answers->known)
		return 0;
	return fail(err, ERR_UNAVAILABLE,
		    "no agent is known: give them with --agent or --agents-file");
}

/* Returns true if the agent failed because its host has no pool, and so has no volumes either. */
static bool has_no_pool(struct rpc_call *call, const struct answer *answer)
{
	struct error ignored;
	struct host host;

	return answer->error.code == ERR_FAILED_PRECONDITION &&
	       host_of(call, answer->agent, &host, &ignored) == 0 && !*host.says->dataset;
}

/* Returns true if the agent did not answer and may be ignored: it cannot have the object. */
static bool is_excluded(struct rpc_call *call, const struct claim_answers *claimed,
			const struct answer *answer)
{
	return claimed && answer->error.code != ERR_FAILED_PRECONDITION &&
	       claim_excludes(agents_roster(call), claimed, answer->agent);
}

/*
 * Check that every agent reported that it does not have the object, and that no host had it whose
 * agent left the list. claimed: the answers to a claim, if it is known where the object will be
 * created; else NULL.
 */
static int check_missing(struct rpc_call *call, const struct search *search,
			 const struct answers *answers, const struct claim_answers *claimed,
			 struct error *err)
{
	struct roster *roster = agents_roster(call);

	for (size_t i = 0; i < answers->n; i++) {
		const struct answer *answer = &answers->list[i];
		if (answer->error.code == ERR_NOT_FOUND || has_no_pool(call, answer)) {
			if (roster_check_hosts(roster, answer->agent, search->what, err) < 0)
				return -1;
			continue;
		}
		if (!is_excluded(call, claimed, answer))
			return fail_down(call, answer,
					 arena_printf(&call->arena, "whether it has %s",
						      search->what),
					 remedy_of(call, search), err);
	}
	const struct missing missing = {roster_pin(roster, call)->set, search->kind, search->name,
					search->what};
	if (check_any_agent(answers, err) < 0 || roster_check_missing(roster, &missing, err) < 0)
		return -1;
	return claimed ? claim_check_targets(roster, claimed, search->what, err) : 0;
}

static int fail_twice(const struct search *search, const struct answer *one,
		      const struct answer *other, struct error *err)
{
	return fail(err, ERR_FAILED_PRECONDITION,
		    "%s exists twice, at agents '%s' and '%s': calls for it fail until one of the "
		    "two is removed, with 'zfs rename' to a name that is not a volume's, or with "
		    "'zfs destroy'",
		    search->what, agent_endpoint(one->agent), agent_endpoint(other->agent));
}

/*
 * *ret is the answer that has the object; NULL if no agent has it. Fails if two agents have it and
 * neither gives it up.
 */
static int judge(struct rpc_call *call, const struct search *search, const struct answers *answers,
		 const struct claim_answers *claimed, const struct answer **ret, struct error *err)
{
	*ret = NULL;
	for (size_t i = 0; i < answers->n; i++) {
		const struct answer *answer = &answers->list[i];
		if (answer->error.code != ERR_OK)
			continue;
		const struct answer *has = *ret;
		*ret = !has ? answer
			    : (search->settles ? duplicate_settle(call, has, answer) : NULL);
		if (!*ret)
			return fail_twice(search, has, answer, err);
	}
	return *ret ? 0 : check_missing(call, search, answers, claimed, err);
}

int hosts_search(struct rpc_call *call, const struct search *search, const struct answer **ret,
		 struct error *err)
{
	int failed;

	do {
		struct answers answers = agents_ask_all(call, search->method, search->request);
		failed = judge(call, search, &answers, NULL, ret, err);
	} while (failed && roster_pin_again(agents_roster(call), call, call->deadline));
	return failed;
}

/*
 * Turn each answer that reports a promise, for our claim or for another one, into ERR_NOT_FOUND:
 * its agent does not have the object. *ret is the promises for our claim. Returns the highest of
 * the other claims; 0 if there is none.
 */
static uint64_t take_promises(struct rpc_call *call, const struct search *search,
			      const struct answers *answers, struct claim_answers *ret)
{
	uint64_t highest = 0;

	*ret = (struct claim_answers){.n = answers->n,
				      .name = name_hash(search->kind, search->name)};
	ret->list = arena_alloc(&call->arena, (answers->n + 1) * sizeof(*ret->list));
	for (size_t i = 0; i < answers->n; i++) {
		struct answer *answer = &answers->list[i];
		uint64_t promised = 0;
		ret->list[i].agent = answer->agent;
		if (answer->error.code != ERR_OK)
			continue;
		memcpy(&promised, (const char *)answer->response + search->promised,
		       sizeof(promised));
		if (search->place)
			memcpy(&ret->list[i].promise,
			       (const char *)answer->response + search->promise, sizeof(Promise *));
		if (promised || ret->list[i].promise)
			answer->error.code = ERR_NOT_FOUND;
		highest = promised > highest ? promised : highest;
	}
	return highest;
}

/* Returns true if the agent where the object will be created has promised the claim. */
static bool has_place(const struct search *search, const struct claim_answers *claimed)
{
	for (size_t i = 0; search->place && i < claimed->n; i++)
		if (claimed->list[i].agent == search->place)
			return claimed->list[i].promise != NULL;
	return false;
}

/* Set the target of the claim to the node where the object will be created. */
static void set_target(struct rpc_call *call, const struct search *search)
{
	struct roster *roster = agents_roster(call);
	scoped_lock(&roster->lock);

	if (search->place && search->place->state.node_id)
		*search->target = name_hash_node(search->place->state.node_id);
}

int hosts_claim(struct rpc_call *call, const struct search *search, const struct answer **ret,
		struct error *err)
{
	struct claim_answers claimed;

	set_target(call, search);
	do {
		*search->claim = claim_next();
		struct answers answers = agents_ask_all(call, search->method, search->request);
		uint64_t promised = take_promises(call, search, &answers, &claimed);
		int failed = judge(call, search, &answers,
				   has_place(search, &claimed) ? &claimed : NULL, ret, err);
		if (failed && roster_pin_again(agents_roster(call), call, call->deadline))
			continue;
		if (failed && (!promised || err->code != ERR_UNAVAILABLE))
			return -1;
		if (!failed && (*ret || !promised))
			return 0;
		claim_heard(promised);
	} while (claim_pause(call->deadline));
	return fail(err, ERR_ABORTED, "%s is being created by another call: try again",
		    search->what);
}

static int take_owner(const struct agent *agent, const GetDatasetResponse *response,
		      const char *volume_id, struct owner *ret, struct error *err)
{
	if (!response->dataset || strcmp(response->dataset->id, volume_id) != 0)
		return fail(err, ERR_INTERNAL,
			    "agent '%s' was asked for volume '%s' and returned another",
			    agent_endpoint(agent), volume_id);
	*ret = (struct owner){.agent = agent, .dataset = response->dataset};
	return 0;
}

/*
 * Look up a volume by hosts_search or hosts_claim. settles: if two agents have it, they may be
 * asked to settle which one keeps it.
 */
static int look(struct rpc_call *call, const char *volume_id, search_fn *ask, bool settles,
		const struct agent *place, struct owner *ret, uint64_t *ret_claim,
		struct error *err)
{
	GetDatasetRequest *request = new_get_dataset_request(&call->arena);
	const struct search search = {
		.method = "GetDataset",
		.request = &request->base,
		.what = arena_printf(&call->arena, "volume '%s'", volume_id),
		.kind = NAME_VOLUME,
		.name = volume_id,
		.settles = settles,
		.claim = &request->claim,
		.promised = offsetof(GetDatasetResponse, promised),
		.place = place,
		.target = &request->target,
		.promise = offsetof(GetDatasetResponse, promise),
	};
	const struct answer *answer;

	*ret = (struct owner){0};
	request->id = arena_strdup(&call->arena, volume_id);
	if (ask(call, &search, &answer, err) < 0)
		return -1;
	*ret_claim = request->claim;
	if (!answer)
		return 0;
	if (take_owner(answer->agent, answer->response, volume_id, ret, err) < 0)
		return -1;
	agents_remember(call, volume_id, answer->agent);
	return 0;
}

/*
 * Ask only the agent that had the volume last. Returns true with *ret filled if it still has it;
 * false if all agents must be searched.
 */
static bool ask_cached_owner(struct rpc_call *call, const char *volume_id, struct owner *ret)
{
	GetDatasetRequest *request = new_get_dataset_request(&call->arena);
	const struct agent *agent = agents_cached_owner(call, volume_id);
	struct error ignored;
	void *response;

	request->id = arena_strdup(&call->arena, volume_id);
	return agent &&
	       agent_try(call, agent, "GetDataset", &request->base, &response, &ignored) == 0 &&
	       take_owner(agent, response, volume_id, ret, &ignored) == 0;
}

int owner_find(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err)
{
	uint64_t claim;

	if (ask_cached_owner(call, volume_id, ret))
		return 0;
	return look(call, volume_id, hosts_search, true, NULL, ret, &claim, err);
}

int owner_search(struct rpc_call *call, const char *volume_id, struct owner *ret, struct error *err)
{
	uint64_t claim;

	return look(call, volume_id, hosts_search, false, NULL, ret, &claim, err);
}

int owner_claim(struct rpc_call *call, const char *volume_id, const struct agent *place,
		struct owner *ret, uint64_t *ret_claim, struct error *err)
{
	return look(call, volume_id, hosts_claim, true, place, ret, ret_claim, err);
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
	if (agent_get_host(call, agent, request, &ret->says, err) < 0)
		return -1;
	return agent_recognise(call, agent, ret->says, err);
}

/*
 * Ask the agents that the filter chooses, or all if it is NULL, for their hosts; give up at
 * `until`.
 */
static struct answers ask_hosts(struct rpc_call *call, agent_filter *chooses, const void *arg,
				int64_t until)
{
	const ProtobufCMessage *request = &new_get_host_request(&call->arena)->base;
	struct answers answers = agents_ask_until(call, "GetHost", request, chooses, arg, until);

	for (size_t i = 0; i < answers.n; i++) {
		struct answer *answer = &answers.list[i];
		if (answer->error.code == ERR_OK)
			agent_recognise(call, answer->agent, answer->response, &answer->error);
	}
	return answers;
}

static int collect(struct rpc_call *call, const struct answers *answers, bool partial,
		   struct hosts *ret, struct error *err)
{
	ret->n = answers->n;
	ret->list = arena_alloc(&call->arena, (answers->n + 1) * sizeof(*ret->list));
	for (size_t i = 0; i < answers->n; i++) {
		const struct answer *answer = &answers->list[i];
		bool silent = answer->error.code != ERR_OK;
		if (silent && !partial)
			return fail_down(call, answer, "what its host is", REMOVE, err);
		ret->list[i] = (struct host){.agent = answer->agent,
					     .says = silent ? NULL : answer->response};
	}
	return check_any_agent(answers, err);
}

int hosts_all(struct rpc_call *call, struct hosts *ret, struct error *err)
{
	return hosts_chosen(call, NULL, NULL, ret, err);
}

int hosts_chosen(struct rpc_call *call, agent_filter *chooses, const void *arg, struct hosts *ret,
		 struct error *err)
{
	const struct answers answers = ask_hosts(call, chooses, arg, NO_DEADLINE);

	return collect(call, &answers, false, ret, err);
}

int hosts_some(struct rpc_call *call, struct hosts *ret, struct error *err)
{
	const struct answers answers = ask_hosts(call, NULL, NULL, NO_DEADLINE);

	return collect(call, &answers, true, ret, err);
}

static int find_node(struct rpc_call *call, const char *node_id, int64_t until, struct host *ret,
		     struct error *err)
{
	const struct answers answers = ask_hosts(call, NULL, NULL, until);
	const struct answer *silent = NULL;

	for (size_t i = 0; i < answers.n; i++) {
		const struct host host = {answers.list[i].agent, answers.list[i].response};
		if (answers.list[i].error.code != ERR_OK) {
			silent = &answers.list[i];
		} else if (strcmp(host.says->node_id, node_id) == 0) {
			*ret = host;
			return 0;
		}
	}
	if (silent)
		return fail_down(call, silent,
				 arena_printf(&call->arena,
					      "whether it is node '%s', which no other agent is",
					      node_id),
				 REMOVE, err);
	if (roster_check_absent_node(agents_roster(call), node_id, err) < 0)
		return -1;
	return fail(err, ERR_NOT_FOUND,
		    "node '%s' does not exist: no agent has that --node-id; does --agent name all "
		    "of them?",
		    node_id);
}

int hosts_find_node(struct rpc_call *call, const char *node_id, int64_t until, struct host *ret,
		    struct error *err)
{
	const int64_t end = until < call->deadline ? until : call->deadline;
	int failed;

	do
		failed = find_node(call, node_id, until, ret, err);
	while (failed && roster_pin_again(agents_roster(call), call, end));
	return failed;
}
