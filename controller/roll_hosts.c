/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The hosts that all agents keep for controllers that start anew.
 *
 * Invariant: the hosts of the roster and those of an agent are joined in both directions, so a
 * record that only one of the two has is not lost. Agents with the same digest keep the same hosts,
 * so only one of them is read.
 */
#include "controller/roll_hosts.h"

#include "controller/roll_kept.h"
#include "controller/roll_round.h"
#include "controller/roster_absent.h"

static struct host_row row_of(const KnownHost *host)
{
	return (struct host_row){.node_id = host->node_id,
				 .endpoint = host->endpoint,
				 .dataset = host->dataset,
				 .pool_guid = host->pool_guid,
				 .since = host->since,
				 .stamp = host->stamp,
				 .forgotten = host->forgotten};
}

static KnownHost *message_of(struct arena *arena, const struct host_row *row)
{
	KnownHost *host = new_known_host(arena);

	host->node_id = arena_strdup(arena, row->node_id);
	host->endpoint = arena_strdup(arena, row->endpoint);
	host->dataset = arena_strdup(arena, row->dataset);
	host->pool_guid = row->pool_guid;
	host->since = row->since;
	host->stamp = row->stamp;
	host->forgotten = row->forgotten;
	return host;
}

/* Note that the hosts of this agent were read, and so those of all agents with the same digest. */
static void mark_read(struct agent_set *set, const struct agent *agent)
{
	uint64_t digest = agent->state.known_hosts;

	for (size_t i = 0; i < set->n; i++) {
		struct agent_state *state = &set->list[i]->state;
		if (!state->up || state->known_hosts != digest)
			continue;
		state->read = digest;
		state->hosts_read = true;
	}
}

static void take_hosts(struct round *round, struct agent *agent, const void *answer,
		       const struct error *err)
{
	const ListKnownHostsResponse *says = answer;
	struct roster *roster = round->roster;

	(void)err;
	if (!says)
		return;
	for (size_t i = 0; i < says->n_hosts; i++) {
		const struct host_row row = row_of(says->hosts[i]);
		host_list_merge(&roster->hosts, &row);
	}
	roster->unsettled = true;
	mark_read(round->set, agent);
}

/* Returns true if the round calls an agent whose hosts have this digest. */
static bool is_chosen(const struct round *round, uint64_t digest)
{
	for (size_t i = 0; i < round->n; i++)
		if (round->list[i]->state.known_hosts == digest)
			return true;
	return false;
}

/* Choose one agent for each digest of hosts that were not read yet. */
static void choose_unread(struct round *round)
{
	scoped_lock(&round->roster->lock);

	for (size_t i = 0; i < round->set->n; i++) {
		struct agent_state *state = &round->set->list[i]->state;
		uint64_t digest = state->known_hosts;
		if (!state->up)
			continue;
		if (!digest || digest == round->roster->hosts.digest || digest == state->read)
			state->hosts_read = true;
		else if (!is_chosen(round, digest))
			round->list[round->n++] = round->set->list[i];
	}
}

static void read_hosts(struct roster *roster, struct agent_set *set)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct round round = round_begin(roster, set, &arena);

	round.method = "ListKnownHosts";
	round.request = &new_list_known_hosts_request(&arena)->base;
	round.use = take_hosts;
	choose_unread(&round);
	round_ask(&round);
}

void roll_hosts_read(struct roster *roster)
{
	struct agent_set *set = roster_take(roster);

	read_hosts(roster, set);
	roster_settle(roster);
	roll_kept_read(roster, set);
	roster_put(roster, set);
}

/* The state of the list of hosts that is sent to some agents. */
struct sent {
	uint64_t digest, order; /* members of roster->hosts at that time */
};

static void note_sent(struct round *round, struct agent *agent, const void *answer,
		      const struct error *err)
{
	const KeepHostsResponse *says = answer;
	const struct sent *sent = round->arg;
	struct agent_state *state = &agent->state;

	(void)err;
	if (!says)
		return;
	state->known_hosts = says->known_hosts;
	if (says->known_hosts == sent->digest)
		state->synced = sent->order;
}

/* Choose agents that lack the same hosts, and make their request. */
static void choose_unsent(struct round *round)
{
	scoped_lock(&round->roster->lock);
	const struct host_list *hosts = &round->roster->hosts;
	KeepHostsRequest *request = new_keep_hosts_request(round->arena);
	uint64_t synced = 0;

	for (size_t i = 0; i < round->set->n; i++) {
		struct agent_state *state = &round->set->list[i]->state;
		if (state->known_hosts == hosts->digest)
			state->synced = hosts->order;
		if (!state->up || state->known_hosts == hosts->digest ||
		    state->sent == hosts->digest || (round->n && state->synced != synced))
			continue;
		synced = state->synced;
		state->sent = hosts->digest;
		round->list[round->n++] = round->set->list[i];
	}
	*(struct sent *)round->arg = (struct sent){hosts->digest, hosts->order};
	request->hosts = arena_alloc(round->arena, (hosts->n + 1) * sizeof(*request->hosts));
	for (size_t i = 0; round->n && i < hosts->n; i++)
		if (hosts->rows[i].order > synced)
			request->hosts[request->n_hosts++] =
				message_of(round->arena, &hosts->rows[i]);
	round->request = &request->base;
}

static void send_hosts(struct roster *roster, struct agent_set *set)
{
	struct sent sent;

	for (;;) {
		auto_arena struct arena arena = {.cap = SIZE_MAX};
		struct round round = round_begin(roster, set, &arena);
		round.method = "KeepHosts";
		round.use = note_sent;
		round.arg = &sent;
		choose_unsent(&round);
		if (!round.n)
			return;
		round_ask(&round);
	}
}

void roll_hosts_send(struct roster *roster)
{
	struct agent_set *set = roster_take(roster);

	send_hosts(roster, set);
	roll_kept_send(roster, set);
	roster_put(roster, set);
}
