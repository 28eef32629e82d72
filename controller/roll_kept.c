/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The names that agents keep of other hosts.
 *
 * Invariant: the names that several agents keep of a host are joined, except those that were read
 * more than a minute before others. So a name counts if the host had it when the agents last got
 * its names. The roster's lock is not held while an agent is asked.
 */
#include "controller/roll_kept.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "controller/roll_round.h"

#define NAMES_MAX 400000                  /* names of one host in one message */
#define AHEAD_US  (60 * (int64_t)1000000) /* by how much the clocks of two controllers may differ */

/* The names of a host that agents have kept. */
struct found {
	int64_t read; /* the latest time at which an agent's names were read */
	uint64_t *hashes;
	size_t n;
	uint64_t barrier; /* the highest barrier among the names that were joined */
	bool incomplete;  /* an agent did not answer */
};

/*
 * Join the names that an agent keeps, unless they were read a minute before those found so far. If
 * they were read a minute later, they replace those.
 */
static void join(struct found *found, int64_t read, uint64_t barrier, const uint64_t *hashes,
		 size_t n)
{
	if (read < 0 || read > INT64_MAX / 2 || read < found->read - AHEAD_US)
		return;
	if (read > found->read + AHEAD_US)
		found->n = found->barrier = 0;
	if (barrier > found->barrier)
		found->barrier = barrier;
	if (read > found->read)
		found->read = read;
	found->hashes = mem_resize(found->hashes, (found->n + n + 1) * sizeof(*hashes));
	if (n)
		memcpy(found->hashes + found->n, hashes, n * sizeof(*hashes));
	found->n += n;
}

static void take_names(struct round *round, struct agent *agent, const void *answer,
		       const struct error *err)
{
	const GetKeptNamesResponse *says = answer;
	struct found *found = round->arg;

	(void)agent;
	if (says)
		join(found, says->read, says->barrier, says->hashes, says->n_hashes);
	else if (err->code != ERR_NOT_FOUND && err->code != ERR_UNIMPLEMENTED)
		found->incomplete = true;
}

static void choose_up(struct round *round)
{
	scoped_lock(&round->roster->lock);

	for (size_t i = 0; i < round->set->n; i++)
		if (round->set->list[i]->state.up)
			round->list[round->n++] = round->set->list[i];
}

/*
 * Returns the names of a node; NULL if it is neither on the list nor absent. Call it with the lock.
 */
static struct names *names_of(struct round *round, const char *node_id)
{
	struct absent *absent = absent_node(round->roster->absent, node_id);

	for (size_t i = 0; i < round->set->n && !absent; i++) {
		struct agent_state *state = &round->set->list[i]->state;
		const char *known = state->node_id ? state->node_id : state->presumed;
		if (known && !strcmp(known, node_id))
			return &state->names;
	}
	return absent ? &absent->names : NULL;
}

/* Take over the names that were found for a host. ups: roster.ups when the agents were asked. */
static void take_found(struct round *round, const char *node_id, unsigned ups)
{
	scoped_lock(&round->roster->lock);
	struct names *names = names_of(round, node_id);
	struct found *found = round->arg;

	if (!names)
		return;
	if (found->read) {
		if (names->version)
			join(found, names->read, names->barrier, names->hashes, names->n);
		names->n_kept = 0; /* keep the names added here, which no agent keeps */
		names_take(names, 1, found->hashes, found->n);
		names->read = found->read;
		names->barrier = found->barrier;
	}
	if (!found->incomplete)
		names->asked = ups;
	if (names->version)
		log_info("names of an absent host are loaded", log_str("node", node_id),
			 log_int("names", (long long)names->n));
	else
		log_warn("names of an absent host are missing", log_str("node", node_id));
}

/* *ret is the ids of the hosts whose names are to be looked for, in the arena. Returns how many. */
static size_t unasked(struct roster *roster, const struct agent_set *set, struct arena *arena,
		      const char ***ret, unsigned *ret_ups)
{
	scoped_lock(&roster->lock);
	size_t n = set->n;

	for (const struct absent *host = roster->absent; host; host = host->next)
		n++;
	*ret = arena_alloc(arena, (n + 1) * sizeof(**ret));
	n = 0;
	for (const struct absent *host = roster->absent; host; host = host->next)
		if (host->names.asked != roster->ups)
			(*ret)[n++] = arena_strdup(arena, host->node_id);
	for (size_t i = 0; i < set->n; i++) {
		const struct agent_state *state = &set->list[i]->state;
		if (!state->node_id && state->presumed && *state->presumed &&
		    state->names.asked != roster->ups)
			(*ret)[n++] = arena_strdup(arena, state->presumed);
	}
	*ret_ups = roster->ups;
	return n;
}

void roll_kept_read(struct roster *roster, struct agent_set *set)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct round round = round_begin(roster, set, &arena);
	const char **nodes;
	unsigned ups;
	size_t n = unasked(roster, set, &arena, &nodes, &ups);

	round.method = "GetKeptNames";
	round.use = take_names;
	if (n)
		choose_up(&round);
	for (size_t i = 0; i < n; i++) {
		GetKeptNamesRequest *request = new_get_kept_names_request(&arena);
		struct found found = {0};
		request->node_id = arena_strdup(&arena, nodes[i]);
		round.request = &request->base;
		round.arg = &found;
		round_ask(&round);
		take_found(&round, nodes[i], ups);
		free(found.hashes);
	}
}

static uint64_t mix(uint64_t hash)
{
	hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
	hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
	return hash ^ (hash >> 33);
}

/* Returns a number for the agent as a keeper of names, another one after it was down. */
static uint64_t keeper_of(const struct agent *agent)
{
	return mix(hash_text(HASH_START, agent->state.node_id) + (uint64_t)agent->state.since);
}

/*
 * The keepers of a node's names are the agents that are up and have the highest weights for it
 * (rendezvous hashing): when agents come and go, few nodes change their keepers.
 */
static void choose_keepers(struct round *round, const char *node_id)
{
	uint64_t weights[NAMES_KEEPERS + 1], node = hash_text(HASH_START, node_id);

	for (size_t i = 0; i < round->set->n; i++) {
		struct agent *agent = round->set->list[i];
		const char *other = agent->state.node_id;
		if (!agent->state.up || !other || !strcmp(other, node_id))
			continue;
		uint64_t weight = mix(mix(node) ^ hash_text(HASH_START, other));
		size_t at = round->n;
		for (; at && weights[at - 1] < weight; at--) {
			weights[at] = weights[at - 1];
			round->list[at] = round->list[at - 1];
		}
		weights[at] = weight;
		round->list[at] = agent;
		if (round->n < NAMES_KEEPERS)
			round->n++;
	}
}

/* Drop the keepers that have the current names, and note in *names who the keepers are. */
static void drop_given(struct round *round, struct names *names)
{
	struct names before = *names;
	size_t n = 0;

	memset(names->given, 0, sizeof(names->given));
	for (size_t i = 0; i < round->n; i++) {
		struct agent *agent = round->list[i];
		names->given[i].keeper = keeper_of(agent);
		for (size_t k = 0; k < NAMES_KEEPERS; k++)
			if (before.given[k].keeper == names->given[i].keeper)
				names->given[i].edition = before.given[k].edition;
		if (names->given[i].edition != names->edition)
			round->list[n++] = agent;
	}
	round->n = n;
}

static void note_given(struct round *round, struct agent *agent, const void *answer,
		       const struct error *err)
{
	const KeepNamesRequest *request = (const KeepNamesRequest *)round->request;
	struct names *names = names_of(round, request->node_id);
	const uint64_t *edition = round->arg;

	if (!names || (!answer && err->code != ERR_UNIMPLEMENTED))
		return;
	for (size_t i = 0; i < NAMES_KEEPERS; i++)
		if (names->given[i].keeper == keeper_of(agent))
			names->given[i].edition = *edition;
}

/* Choose the keepers of a node that do not have its names yet, and make their request. */
static void choose_ungiven(struct round *round, const char *node_id)
{
	scoped_lock(&round->roster->lock);
	struct names *names = names_of(round, node_id);
	KeepNamesRequest *request = new_keep_names_request(round->arena);

	if (!names || !names->version || names->n + names->n_added > NAMES_MAX)
		return;
	choose_keepers(round, node_id);
	drop_given(round, names);
	if (!round->n)
		return;
	request->node_id = arena_strdup(round->arena, node_id);
	request->read = names->read;
	request->barrier = names->barrier;
	request->n_hashes = names_all(names, round->arena, &request->hashes);
	*(uint64_t *)round->arg = names->edition;
	round->request = &request->base;
}

/*
 * *ret is the ids of all nodes whose agent has answered or is off the list, in the arena. Returns
 * how many.
 */
static size_t all_nodes(struct roster *roster, const struct agent_set *set, struct arena *arena,
			const char ***ret)
{
	scoped_lock(&roster->lock);
	size_t n = set->n;

	for (const struct absent *host = roster->absent; host; host = host->next)
		n++;
	*ret = arena_alloc(arena, (n + 1) * sizeof(**ret));
	n = 0;
	for (size_t i = 0; i < set->n; i++) {
		const char *node_id = set->list[i]->state.node_id;
		if (node_id)
			(*ret)[n++] = arena_strdup(arena, node_id);
	}
	for (const struct absent *host = roster->absent; host; host = host->next)
		(*ret)[n++] = arena_strdup(arena, host->node_id);
	return n;
}

void roll_kept_send(struct roster *roster, struct agent_set *set)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char **nodes;
	size_t n = all_nodes(roster, set, &arena, &nodes);
	uint64_t edition;

	for (size_t i = 0; i < n; i++) {
		auto_arena struct arena own = {.cap = SIZE_MAX};
		struct round round = round_begin(roster, set, &own);
		round.method = "KeepNames";
		round.use = note_given;
		round.arg = &edition;
		choose_ungiven(&round, nodes[i]);
		round_ask(&round);
	}
}
