/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The names of the agents that left the list, and the words about an agent in an error.
 *
 * Invariant: the names of a host are in the state of its agent as long as the agent is on the list,
 * and then in the record of the absent host.
 */
#include "controller/roster_absent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "controller/claim.h"

void roster_add_name(struct roster *roster, const struct agent *agent, enum name_kind kind,
		     const char *name)
{
	scoped_lock(&roster->lock);
	/* A call may still use an agent that has left the list; then its names are in *absent. */
	struct agent *same = (struct agent *)agent;
	struct absent *absent =
		same->state.node_id ? absent_node(roster->absent, same->state.node_id) : NULL;

	names_add(absent ? &absent->names : &same->state.names, name_hash(kind, name));
}

/*
 * Fail because this host is needed; what: the beginning of the error text, before the id of its
 * node.
 */
static int fail_absent(const struct absent *absent, const char *what, struct error *err)
{
	char since[UTC_SIZE];

	return fail(
		err, ERR_UNAVAILABLE,
		"%s '%s', whose agent '%s' is off the list since %s: start zcsi-node there "
		"again; if that host is lost, 'zcsi failover --lost %s' has other nodes take "
		"over its volumes with copies; 'zcsi forget %s', or zcsi-controller started with "
		"--forget '%s', makes its other names free",
		what, absent->node_id, absent->endpoint, utc_text(since, absent->since),
		absent->node_id, absent->node_id, absent->node_id);
}

static bool contains(const struct agent_set *set, const struct agent *agent)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->list[i] == agent)
			return true;
	return false;
}

const struct agent *roster_beside(const struct roster *roster, const struct agent_set *set)
{
	if (set == roster->asked && !roster->unopened)
		return NULL;
	for (size_t i = 0; i < roster->named->n; i++) {
		const struct agent *agent = roster->named->list[i];
		if (!agent->state.lost && !contains(set, agent))
			return agent;
	}
	return NULL;
}

/*
 * A host that was off the list may have come onto it while the agents of the set were asked, so the
 * absent hosts and the list are checked under one lock: then every host is in the set, off the
 * list, or on the list and beside the set.
 */
int roster_check_missing(struct roster *roster, const struct missing *missing, struct error *err)
{
	scoped_lock(&roster->lock);
	const uint64_t hash = name_hash(missing->kind, missing->name);
	const struct absent *absent = absent_with(roster->absent, hash);
	const struct agent *beside = roster_beside(roster, missing->set);
	auto_free char *where = NULL;

	for (const struct absent *each = roster->absent; each && !absent; each = each->next)
		absent = each->names.asked == roster->ups ? NULL : each;
	if (!absent && beside)
		return fail(err, ERR_UNAVAILABLE,
			    "%s may be at agent '%s', which has just come onto the list: try again",
			    missing->what, client_endpoint(beside->client));
	if (!absent)
		return 0;
	bool had = names_have(&absent->names, hash);
	if (asprintf(&where, "%s %s on node", missing->what, had ? "was" : "may be") < 0)
		abort();
	return fail_absent(absent, where, err);
}

int roster_check_absent_node(struct roster *roster, const char *node_id, struct error *err)
{
	scoped_lock(&roster->lock);
	const struct absent *absent = absent_node(roster->absent, node_id);

	return absent ? fail_absent(absent, "the volume cannot be used on node", err) : 0;
}

int roster_check_hosts(struct roster *roster, const struct agent *agent, const char *what,
		       struct error *err)
{
	scoped_lock(&roster->lock);
	const struct agent_state *state = &agent->state;

	if (!state->asked || (state->hosts_read && (state->up || !roster->absent)))
		return 0;
	return fail(err, ERR_UNAVAILABLE,
		    "%s may be on a host that is on the list of agent '%s', which has just come "
		    "up: try again",
		    what, client_endpoint(agent->client));
}

/*
 * Returns since when an agent is down, in seconds since 1970. If this controller has never heard
 * it, that is the last roll call of another one whose names and barrier an agent keeps. After a
 * boot of the host its barrier is ahead of the clock for a minute.
 */
static int64_t down_since(const struct agent_state *state)
{
	const int64_t now = time(NULL), heard = (int64_t)(claim_us(state->names.barrier) / 1000000);

	if (state->node_id)
		return now - (now_ms() - state->since) / 1000;
	return heard < now ? heard : now;
}

const char *roster_node_text(struct roster *roster, const struct agent *agent, struct arena *arena)
{
	scoped_lock(&roster->lock);
	const struct agent_state *state = &agent->state;
	const char *node = state->node_id ? state->node_id : state->presumed;
	char since[UTC_SIZE];

	if (!node || !*node)
		return "";
	if (state->up || (!state->node_id && !state->names.barrier))
		return arena_printf(arena, "it is node '%s'; ", node);
	return arena_printf(arena, "it is node '%s', down since %s%s; ", node,
			    utc_text(since, down_since(state)), state->node_id ? "" : " or later");
}

/* The functions from here to settle_row are called with the roster's lock. */

/*
 * Note in roster->hosts that the host of this agent is on this controller's list. The list of
 * another controller may lack it.
 */
static void settle_agent(struct roster *roster, struct agent *agent)
{
	struct agent_state *state = &agent->state;
	const bool back = state->back;
	const struct host_row *row = host_list_find(&roster->hosts, state->node_id);
	const char *endpoint = client_endpoint(agent->client);

	state->back = false;
	roster->unsettled |= back;
	if (row && !row->forgotten && !strcmp(row->dataset, state->dataset) &&
	    (!state->pool_guid || row->pool_guid == state->pool_guid) && !row->since &&
	    !(back && strcmp(row->endpoint, endpoint) != 0))
		return;
	const struct host_row now = {.node_id = state->node_id,
				     .endpoint = (char *)endpoint,
				     .dataset = state->dataset,
				     .pool_guid = state->pool_guid};
	host_list_set(&roster->hosts, &now);
}

void roster_note_left(struct roster *roster, const struct absent *host)
{
	const struct host_row row = {.node_id = host->node_id,
				     .endpoint = host->endpoint,
				     .dataset = host->dataset,
				     .pool_guid = host->pool_guid,
				     .since = host->since};

	host_list_set(&roster->hosts, &row);
}

static void forget(struct roster *roster, const char *node_id)
{
	const struct host_row *row = host_list_find(&roster->hosts, node_id);
	struct host_row forgotten = row ? *row : (struct host_row){0};

	absent_forget(&roster->absent, node_id);
	forgotten.forgotten = true;
	if (row)
		host_list_set(&roster->hosts, &forgotten);
}

/* Returns the agent on the list that is of this host, or may be, because it has not answered. */
static struct agent *agent_of(const struct roster *roster, const struct host_row *row)
{
	for (size_t i = 0; i < roster->named->n; i++) {
		struct agent *agent = roster->named->list[i];
		const char *node_id = agent->state.node_id;
		if (node_id ? !strcmp(node_id, row->node_id)
			    : !strcmp(client_endpoint(agent->client), row->endpoint))
			return agent;
	}
	return NULL;
}

/* Presume that the host is the one of an agent that has not answered, if no other host may be. */
static void presume(struct agent_state *state, const struct host_row *row)
{
	if (state->node_id || (state->presumed && !strcmp(state->presumed, row->node_id)))
		return;
	const char *presumed = state->presumed ? "" : row->node_id;
	free(state->presumed);
	state->presumed = mem_strdup(presumed);
}

/* Returns true if an agent on the list has the host's pool. */
static bool is_moved(const struct roster *roster, const struct host_row *row)
{
	for (size_t i = 0; i < roster->named->n; i++) {
		const struct agent_state *state = &roster->named->list[i]->state;
		if (row->pool_guid && state->pool_guid == row->pool_guid &&
		    !strcmp(state->dataset, row->dataset))
			return true;
	}
	return false;
}

static bool is_to_be_forgotten(const struct roster *roster, const char *node_id)
{
	for (size_t i = 0; roster->forget && i < roster->forget->n; i++)
		if (!strcmp(roster->forget->values[i], node_id))
			return true;
	return false;
}

/* Record a host as absent from now on. */
static void add_absent(struct roster *roster, const struct host_row *row)
{
	struct absent host = {.node_id = row->node_id,
			      .endpoint = row->endpoint,
			      .dataset = row->dataset,
			      .pool_guid = row->pool_guid,
			      .since = row->since ? row->since : time(NULL),
			      .names.asked = roster->ups - 1};

	log_warn("host is not on the list", log_str("node", host.node_id),
		 log_str("agent", host.endpoint));
	absent_add(&roster->absent, &host);
	if (!row->since)
		roster_note_left(roster, absent_node(roster->absent, host.node_id));
}

static void settle_row(struct roster *roster, size_t at)
{
	const struct host_row *row = &roster->hosts.rows[at];
	struct agent *agent = agent_of(roster, row);

	if (row->forgotten) {
		absent_forget(&roster->absent, row->node_id);
	} else if (agent) {
		presume(&agent->state, row);
	} else if (is_moved(roster, row)) {
		forget(roster, row->node_id);
	} else {
		if (!absent_node(roster->absent, row->node_id))
			add_absent(roster, row);
		row = &roster->hosts.rows[at];
		if (is_to_be_forgotten(roster, row->node_id))
			forget(roster, row->node_id);
	}
}

void roster_settle(struct roster *roster)
{
	scoped_lock(&roster->lock);

	for (size_t i = 0; i < roster->named->n; i++) {
		struct agent *agent = roster->named->list[i];
		if (agent->state.up && !agent->state.refusal)
			settle_agent(roster, agent);
	}
	if (!roster->unsettled)
		return;
	roster->unsettled = false;
	for (size_t i = 0; i < roster->hosts.n; i++)
		settle_row(roster, i);
}

/*
 * Forget a host that has been off the list for long. If another controller has it on its list, that
 * one has reset the time in the known hosts. Then the time begins anew.
 */
static void forget_late(struct roster *roster, struct absent *host)
{
	const struct host_row *row = host_list_find(&roster->hosts, host->node_id);

	if (!row || row->since) {
		forget(roster, host->node_id);
		return;
	}
	host->since = time(NULL);
	roster_note_left(roster, host);
}

void roster_forget(struct roster *roster, int64_t after_ms)
{
	scoped_lock(&roster->lock);

	for (struct absent *host = roster->absent, *next; host; host = next) {
		next = host->next;
		if ((int64_t)(time(NULL) - host->since) * 1000 >= after_ms)
			forget_late(roster, host);
	}
}
