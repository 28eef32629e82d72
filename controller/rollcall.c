/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The roll call: it sends GetHost to every agent and updates the agents' states from the answers.
 *
 * Invariant: as long as an agent is on the list, every answer is compared with the identity that
 * the agent reported first. Each roll call decides again whether an agent is refused, so an agent
 * is accepted again after its configuration was corrected.
 */
#include "controller/rollcall.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "controller/claim.h"
#include "controller/roll_names.h"

#define ANSWER_MS   2000
#define SKEW_MAX_US 5000000 /* a larger difference of the clocks is logged */

/* The functions from here to fail_changed are called with the roster's lock. */

static void set_text(char **at, const char *text)
{
	free(*at);
	*at = text ? mem_strdup(text) : NULL;
}

static bool is_same(const struct agent_state *known, const GetHostResponse *says)
{
	return !known->node_id ||
	       (strcmp(known->node_id, says->node_id) == 0 &&
		(!known->pool_guid || !says->pool_guid || known->pool_guid == says->pool_guid));
}

static void note_skew(struct agent *agent, int64_t skew_us)
{
	int64_t before = agent->state.skew_us;
	bool was_off = before > SKEW_MAX_US || before < -SKEW_MAX_US;
	bool is_off = skew_us > SKEW_MAX_US || skew_us < -SKEW_MAX_US;

	agent->state.skew_us = skew_us;
	if (is_off && !was_off)
		log_warn("agent's clock is not in sync",
			 log_str("agent", client_endpoint(agent->client)),
			 log_int("ahead_ms", skew_us / 1000));
}

static void note_up(struct roster *roster, struct agent *agent, const GetHostResponse *says)
{
	struct agent_state *state = &agent->state;
	const char *endpoint = client_endpoint(agent->client);

	if (!state->version || strcmp(state->version, says->version) != 0) {
		if (strcmp(says->version, ZCSI_VERSION) != 0)
			log_warn("agent's version is different", log_str("agent", endpoint),
				 log_str("version", says->version), log_str("ours", ZCSI_VERSION));
		set_text(&state->version, says->version);
	}
	if (state->up)
		return;
	log_info("agent is up", log_str("agent", endpoint), log_str("node", says->node_id),
		 log_str("dataset", says->dataset), log_str("version", says->version));
	state->up = true;
	state->since = now_ms();
	roster->epoch++;
	roster->ups++;
}

static void note_said(struct agent_state *state, const GetHostResponse *says)
{
	state->said_size = protobuf_c_message_get_packed_size(&says->base);
	state->said = mem_resize(state->said, state->said_size + 1);
	protobuf_c_message_pack(&says->base, state->said);
}

static void note_answer(struct roster *roster, struct agent *agent, const GetHostResponse *says,
			int64_t skew_us)
{
	struct agent_state *state = &agent->state;

	note_up(roster, agent, says);
	note_skew(agent, skew_us);
	if (!is_same(state, says))
		return;
	note_said(state, says);
	if (!state->node_id) {
		state->node_id = mem_strdup(says->node_id);
		state->back = true;
	}
	/* The names that the agent had when it left the list count until its names are read. */
	state->back |= absent_return(&roster->absent, says->node_id, says->dataset, says->pool_guid,
				     &state->names);
	set_text(&state->dataset, says->dataset);
	if (says->pool_guid)
		state->pool_guid = says->pool_guid;
	if (state->known_hosts != says->known_hosts)
		state->sent = state->synced = 0;
	state->known_hosts = says->known_hosts;
}

static void note_down(struct agent *agent, const struct error *cause)
{
	struct agent_state *state = &agent->state;

	if (state->up || !state->asked)
		log_warn("agent is down", log_str("agent", client_endpoint(agent->client)),
			 log_str("error", cause->text));
	if (state->up) {
		state->since = now_ms();
		state->names.edition++; /* so that its keepers get its last barrier */
	}
	state->up = false;
}

static bool note_lost(struct roster *roster, struct agent *agent, int64_t after)
{
	struct agent_state *state = &agent->state;
	bool lost = after && !state->up && now_ms() - state->since >= after;

	if (lost == state->lost)
		return false;
	log_warn(lost ? "agent is assumed lost" : "agent is not lost",
		 log_str("agent", client_endpoint(agent->client)));
	state->lost = lost;
	roster->unopened |= !lost;
	return true;
}

static void refuse(struct agent *agent, const char *why)
{
	struct agent_state *state = &agent->state;

	if (why && !state->refusal)
		log_error("agent is refused", log_str("agent", client_endpoint(agent->client)),
			  log_str("error", why));
	if (!why && state->refusal)
		log_info("agent is not refused any more",
			 log_str("agent", client_endpoint(agent->client)));
	set_text(&state->refusal, why);
}

static int fail_changed(const struct agent *agent, const GetHostResponse *says, struct error *err)
{
	const struct agent_state *known = &agent->state;

	return fail(err, ERR_FAILED_PRECONDITION,
		    "agent '%s' was node '%s' with pool %" PRIu64 " and is node '%s' with pool "
		    "%" PRIu64 " now: it is not used until that is undone; if the change is "
		    "intended, restart the controller, or remove the agent from --agents-file "
		    "and add it again",
		    client_endpoint(agent->client), known->node_id, known->pool_guid, says->node_id,
		    says->pool_guid);
}

int rollcall_recognise(struct roster *roster, const struct agent *agent,
		       const GetHostResponse *says, struct error *err)
{
	scoped_lock(&roster->lock);

	return is_same(&agent->state, says) ? 0 : fail_changed(agent, says, err);
}

/*
 * An agent and its answer to GetHost. In a list sorted by node or by pool, two agents of the same
 * node or pool are adjacent.
 */
struct answered {
	struct agent *agent;
	const GetHostResponse *says; /* NULL if the agent did not answer */
	struct error error;
};

static int by_node(const void *a, const void *b)
{
	const struct answered *left = a, *right = b;

	return strcmp(left->says->node_id, right->says->node_id);
}

static int by_pool(const void *a, const void *b)
{
	const struct answered *left = a, *right = b;

	if (left->says->pool_guid != right->says->pool_guid)
		return left->says->pool_guid < right->says->pool_guid ? -1 : 1;
	return strcmp(left->says->dataset, right->says->dataset);
}

static void mark_duplicates(struct answered *list, size_t n,
			    int (*compare)(const void *, const void *), const char *what)
{
	struct error err;

	qsort(list, n, sizeof(*list), compare);
	for (size_t i = 1; i < n; i++) {
		struct answered *a = &list[i - 1], *b = &list[i];
		if (compare(a, b) != 0 || (compare == by_pool && !a->says->pool_guid))
			continue;
		fail(&err, ERR_FAILED_PRECONDITION,
		     "agents '%s' and '%s' both report that they %s ('%s' with '%s'): neither is "
		     "used until one of the two is removed from the list or reconfigured",
		     client_endpoint(a->agent->client), client_endpoint(b->agent->client), what,
		     a->says->node_id, a->says->dataset);
		a->error = b->error = err;
	}
}

static void judge(struct answered *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_same(&list[i].agent->state, list[i].says))
			fail_changed(list[i].agent, list[i].says, &list[i].error);
	mark_duplicates(list, n, by_node, "are the same node");
	mark_duplicates(list, n, by_pool, "hold the same dataset");
	for (size_t i = 0; i < n; i++)
		refuse(list[i].agent, list[i].error.code == ERR_OK ? NULL : list[i].error.text);
}

/*
 * Ask all agents of the set, without the lock. *ret lists the agents that answered before those
 * that did not. Returns how many answered.
 */
static size_t ask(struct arena *arena, const struct agent_set *set, struct answered *ret)
{
	struct client_call **asked = arena_alloc(arena, (set->n + 1) * sizeof(*asked));
	GetHostRequest *request = new_get_host_request(arena);
	int64_t deadline = now_ms() + ANSWER_MS;
	size_t n = 0, silent = set->n;

	request->barrier = claim_next();
	for (size_t i = 0; i < set->n; i++)
		asked[i] = client_begin(set->list[i]->client, arena, &zcsi__v1__agent__descriptor,
					"GetHost", &request->base, deadline);
	for (size_t i = 0; i < set->n; i++) {
		GetHostResponse *says;
		struct error err = {.code = ERR_OK};
		bool answers = client_finish(asked[i], &says, &err) == 0;
		ret[answers ? n++ : --silent] = (struct answered){
			.agent = set->list[i], .says = answers ? says : NULL, .error = err};
	}
	return n;
}

/*
 * Returns by how much, at least, an agent's clock is ahead of ours, in microseconds. The agent read
 * it after `before`, when the requests were sent, and before `after`, when all had been answered.
 */
static int64_t skew_of(int64_t time, int64_t before, int64_t after)
{
	if (time < before)
		return time - before;
	return time > after ? time - after : 0;
}

static void read_names(struct roster *roster, struct arena *arena, const struct answered *list,
		       size_t n)
{
	struct roll_names *names = arena_alloc(arena, (n + 1) * sizeof(*names));

	for (size_t i = 0; i < n; i++)
		names[i] = (struct roll_names){list[i].agent, list[i].says};
	roll_names(roster, arena, names, n);
}

/*
 * A roll call: the agents that were asked, and the times (wall_us) before the first request and
 * after the last answer.
 */
struct roll {
	struct answered *list;
	size_t n, n_answered; /* the agents that answered are the first of the list */
	int64_t before, after;
};

/* Update the states of the agents. Returns true if an agent became lost or is so no longer. */
static bool note_roll(struct roster *roster, const struct roll *roll, int64_t lost_after)
{
	scoped_lock(&roster->lock);
	bool changed = false;

	for (size_t i = 0; i < roll->n; i++) {
		const struct answered *each = &roll->list[i];
		if (i < roll->n_answered)
			note_answer(roster, each->agent, each->says,
				    skew_of(each->says->time, roll->before, roll->after));
		else
			note_down(each->agent, &each->error);
		each->agent->state.asked = true;
		changed |= note_lost(roster, each->agent, lost_after);
	}
	judge(roll->list, roll->n_answered);
	return changed;
}

bool rollcall(struct roster *roster, int64_t lost_after)
{
	struct agent_set *set = roster_take(roster);
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct roll roll = {.n = set->n, .before = wall_us()};

	roll.list = arena_alloc(&arena, (set->n + 1) * sizeof(*roll.list));
	roll_names_begin(roster, set);
	roll.n_answered = ask(&arena, set, roll.list);
	roll.after = wall_us();
	bool changed = note_roll(roster, &roll, lost_after);
	read_names(roster, &arena, roll.list, roll.n_answered);
	roster_put(roster, set);
	return changed;
}
