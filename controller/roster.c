/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Sets of agents. A set never changes after it was built, and is freed with its last user.
 *
 * Invariant: an agent's connection is closed on the loop's thread, after the last set that contains
 * the agent was freed. An RPC has at most one pin, in call->state, which its arena releases.
 */
#include "controller/roster.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "controller/roster_absent.h"

void roster_init(struct roster *roster, struct loop *loop, const struct client_options *options)
{
	*roster = (struct roster){.loop = loop, .options = *options};
	pthread_mutex_init(&roster->lock, NULL);
	pthread_cond_init(&roster->opened, NULL);
	roster->named = mem_alloc(sizeof(*roster->named));
	roster->asked = mem_alloc(sizeof(*roster->asked));
	roster->named->n_users = roster->asked->n_users = 1;
}

/*
 * Drop a reference to the set, with the lock. The last one frees the set, and retires the agents
 * that are in no other set.
 */
static void release(struct roster *roster, struct agent_set *set)
{
	if (--set->n_users)
		return;
	for (size_t i = 0; i < set->n; i++) {
		struct agent *agent = set->list[i];
		if (--agent->n_sets)
			continue;
		agent->next = roster->retired;
		roster->retired = agent;
	}
	free(set);
}

static struct agent_set *new_set(size_t n)
{
	struct agent_set *set = mem_alloc(sizeof(*set) + n * sizeof(struct agent *));

	set->n_users = 1;
	return set;
}

static void add(struct agent_set *set, struct agent *agent)
{
	set->list[set->n++] = agent;
	agent->n_sets++;
}

/* Put the new set in place of *at, and release the old one, with the lock. */
static void replace(struct roster *roster, struct agent_set **at, struct agent_set *set)
{
	struct agent_set *old = *at;

	*at = set;
	release(roster, old);
}

static void agent_free(struct agent *agent)
{
	client_free(agent->client);
	free(agent->state.node_id);
	free(agent->state.presumed);
	free(agent->state.dataset);
	free(agent->state.version);
	free(agent->state.said);
	names_fini(&agent->state.names);
	free(agent->state.refusal);
	free(agent);
}

static struct agent *take_retired(struct roster *roster)
{
	scoped_lock(&roster->lock);
	struct agent *retired = roster->retired;

	roster->retired = NULL;
	return retired;
}

void roster_reap(struct roster *roster)
{
	for (struct agent *agent = take_retired(roster), *next; agent; agent = next) {
		next = agent->next;
		agent_free(agent);
	}
}

void roster_fini(struct roster *roster)
{
	if (roster->named) {
		release(roster, roster->named);
		release(roster, roster->asked);
	}
	roster_reap(roster);
	absent_fini(&roster->absent);
	host_list_fini(&roster->hosts);
	pthread_cond_destroy(&roster->opened);
	pthread_mutex_destroy(&roster->lock);
}

static struct agent *find(const struct agent_set *set, const char *endpoint)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(client_endpoint(set->list[i]->client), endpoint) == 0)
			return set->list[i];
	return NULL;
}

static struct agent *agent_new(const struct roster *roster, const char *endpoint, struct error *err)
{
	struct agent *agent = mem_alloc(sizeof(*agent));

	if (client_new(&agent->client, roster->loop, endpoint, &roster->options, err) < 0) {
		free(agent);
		return NULL;
	}
	agent->state.since = now_ms();
	return agent;
}

/* Returns true if another agent of the set is of that node. */
static bool has_node(const struct agent_set *set, const char *node_id)
{
	for (size_t i = 0; i < set->n; i++) {
		const char *other = set->list[i]->state.node_id;
		if (other && strcmp(other, node_id) == 0)
			return true;
	}
	return false;
}

/* Log that an agent has left the list, and keep the names that it had in roster->absent. */
static void note_left(struct roster *roster, const struct agent_set *set, struct agent *agent)
{
	struct agent_state *state = &agent->state;
	struct absent host = {.node_id = state->node_id,
			      .endpoint = (char *)client_endpoint(agent->client),
			      .dataset = state->dataset,
			      .pool_guid = state->pool_guid,
			      .since = time(NULL),
			      .names = state->names};

	roster->left++;
	log_warn("agent is off the list", log_str("agent", host.endpoint),
		 log_str("node", host.node_id ? host.node_id : ""));
	if (!host.node_id || has_node(set, host.node_id))
		return;
	host.names.asked = roster->ups - 1;
	if (host.names.n_added)
		host.names.edition++;
	state->names = (struct names){0};
	absent_add(&roster->absent, &host);
	roster_note_left(roster, &host);
}

int roster_name(struct roster *roster, const char *const *endpoints, size_t n, struct error *err)
{
	scoped_lock(&roster->lock);
	struct agent_set *set = new_set(n);

	for (size_t i = 0; i < n; i++) {
		if (find(set, endpoints[i]))
			continue;
		struct agent *agent = find(roster->named, endpoints[i]);
		roster->unopened |= !agent;
		if (!agent && !(agent = agent_new(roster, endpoints[i], err))) {
			release(roster, set);
			return -1;
		}
		add(set, agent);
	}
	for (size_t i = 0; i < roster->named->n; i++) {
		struct agent *agent = roster->named->list[i];
		if (!find(set, client_endpoint(agent->client)))
			note_left(roster, set, agent);
	}
	replace(roster, &roster->named, set);
	roster->unsettled = true;
	return 0;
}

struct agent_set *roster_take(struct roster *roster)
{
	scoped_lock(&roster->lock);

	roster->named->n_users++;
	return roster->named;
}

void roster_put(struct roster *roster, struct agent_set *set)
{
	scoped_lock(&roster->lock);

	release(roster, set);
}

void roster_open(struct roster *roster)
{
	scoped_lock(&roster->lock);
	struct agent_set *set = new_set(roster->named->n);

	for (size_t i = 0; i < roster->named->n; i++)
		if (!roster->named->list[i]->state.lost)
			add(set, roster->named->list[i]);
	replace(roster, &roster->asked, set);
	roster->closed = roster->unopened = false;
	roster->epoch++;
	pthread_cond_broadcast(&roster->opened);
}

static void unpin(void *what)
{
	struct pin *pin = what;

	roster_put(pin->roster, pin->set);
}

/*
 * Wait until *closed is false. If the deadline passes before the first roll call has ended, the set
 * of agents to ask is still empty. Call it with the lock.
 */
static void wait_until_open(struct roster *roster, const bool *closed, int64_t deadline)
{
	const struct timespec until = {.tv_sec = deadline / 1000,
				       .tv_nsec = deadline % 1000 * 1000000};

	while (*closed && time_left_ms(deadline) > 0)
		pthread_cond_clockwait(&roster->opened, &roster->lock, CLOCK_MONOTONIC, &until);
}

const struct pin *roster_pin(struct roster *roster, struct rpc_call *call)
{
	struct pin *pin = call->state;

	if (pin)
		return pin;
	pin = arena_alloc(&call->arena, sizeof(*pin));
	scoped_lock(&roster->lock);
	wait_until_open(roster, &roster->closed, call->deadline);
	roster->asked->n_users++;
	*pin = (struct pin){roster, roster->asked, roster->epoch};
	arena_own(&call->arena, unpin, pin);
	call->state = pin;
	return pin;
}

/*
 * Wait until RPCs ask an agent that is not in the set. Returns false if there is no such agent on
 * the list, or the deadline passes first.
 */
static bool wait_for_others(struct roster *roster, const struct agent_set *set, int64_t deadline)
{
	scoped_lock(&roster->lock);

	if (!roster_beside(roster, set))
		return false;
	wait_until_open(roster, &roster->unopened, deadline);
	return roster->asked != set && time_left_ms(deadline) > 0;
}

bool roster_pin_again(struct roster *roster, struct rpc_call *call, int64_t until)
{
	const struct pin *pin = call->state;

	if (!wait_for_others(roster, pin->set, until))
		return false;
	call->state = NULL;
	roster_pin(roster, call);
	return true;
}
