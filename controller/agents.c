/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The agents: their start and end, and the functions by which handlers read their state. roster.c
 * keeps the list of agents, rollcall.c decides whether an agent is up and whether it is refused,
 * and agents_ask.c sends them requests.
 *
 * Invariant: no request is sent before the first roll call has ended.
 */
#include "controller/agents.h"

#include <stdlib.h>
#include <string.h>

#include "common/agents_dns.h"
#include "common/hash.h"
#include "controller/agents_inside.h"
#include "controller/rollcall.h"

static int check(const struct option_list *endpoints, struct error *err)
{
	for (size_t i = 0; i < endpoints->n; i++) {
		if (agents_dns_is(endpoints->values[i]) &&
		    agents_dns_check(endpoints->values[i], err) < 0)
			return fail_context(err, "--agent");
		for (size_t k = 0; k < i; k++)
			if (strcmp(endpoints->values[i], endpoints->values[k]) == 0)
				return fail(err, ERR_INVALID_ARGUMENT,
					    "--agent '%s' is given twice", endpoints->values[i]);
	}
	return 0;
}

int agents_new(struct agents **ret, struct loop *loop, const struct agents_options *options,
	       struct error *err)
{
	const struct client_options client = {.tls = options->trust->tls,
					      .allow_plaintext = options->trust->insecure};

	if (check(options->named, err) < 0)
		return -1;
	struct agents *agents = mem_alloc(sizeof(*agents));
	agents->options = *options;
	roster_init(&agents->roster, loop, &client);
	agents->roster.forget = options->forget;
	if (options->node && client_new(&agents->node, loop, options->node, &client, err) < 0) {
		agents_free(agents);
		return fail_context(err, "--node");
	}
	/*
	 * DNS names are resolved by the watcher later. Until then the list of agents is empty, and
	 * lookups fail, so no volume is reported as missing.
	 */
	size_t n = agents_dns_any(options->named) ? 0 : options->named->n;
	if (roster_name(&agents->roster, options->named->values, n, err) < 0) {
		agents_free(agents);
		return fail_context(err, "--agent");
	}
	roster_open(&agents->roster);
	*ret = agents;
	return 0;
}

int agents_start(struct agents *agents, struct error *err)
{
	const struct agents_options *options = &agents->options;

	agents->roster.closed = true;
	return agent_watcher_start(
		&agents->watch, &agents->roster,
		&(struct agent_watcher_options){.agents = options->named,
						.file = options->file,
						.every_ms = options->every_ms,
						.lost_after_ms = options->lost_after_ms,
						.forget_after_ms = options->forget_after_ms},
		err);
}

void agents_reread(struct agents *agents)
{
	if (agents->watch)
		agent_watcher_reread(agents->watch);
}

void agents_free(struct agents *agents)
{
	if (!agents)
		return;
	agent_watcher_stop(agents->watch);
	client_free(agents->node);
	roster_fini(&agents->roster);
	free(agents);
}

const char *agent_endpoint(const struct agent *agent)
{
	return client_endpoint(agent->client);
}

void agents_metrics(void *arg, FILE *out)
{
	struct agents *agents = arg;

	roster_metrics(&agents->roster, out);
}

struct roster *agents_roster(const struct rpc_call *call)
{
	struct agents *agents = call->app;

	return &agents->roster;
}

struct client *agents_node(const struct rpc_call *call)
{
	const struct agents *agents = call->app;

	return agents->node;
}

bool agents_partial_lists(const struct rpc_call *call)
{
	const struct agents *agents = call->app;

	return agents->options.partial_lists;
}

int agent_recognise(const struct rpc_call *call, const struct agent *agent,
		    const GetHostResponse *says, struct error *err)
{
	struct agents *agents = call->app;

	return rollcall_recognise(&agents->roster, agent, says, err);
}

static uint64_t slot_hash(const char *id)
{
	uint64_t hash = hash_text(HASH_START, id);

	return hash ^ hash >> 32;
}

/* Returns the agent in the cache, which may have been freed, or NULL. */
static const struct agent *cached(struct owner_cache *cache, const char *id, unsigned epoch)
{
	uint64_t hash = slot_hash(id);
	scoped_lock(&cache->lock);
	const struct cached_owner *owner = &cache->list[hash % OWNER_CACHE_SLOTS];

	return owner->id == hash && owner->epoch == epoch ? owner->agent : NULL;
}

const struct agent *agents_cached_owner(struct rpc_call *call, const char *id)
{
	struct agents *agents = call->app;
	const struct pin *pin = roster_pin(&agents->roster, call);
	const struct agent *guess = cached(&agents->owner_cache, id, pin->epoch);

	for (size_t i = 0; guess && i < pin->set->n; i++)
		if (pin->set->list[i] == guess)
			return guess;
	return NULL;
}

void agents_remember(struct rpc_call *call, const char *id, const struct agent *agent)
{
	struct agents *agents = call->app;
	struct owner_cache *cache = &agents->owner_cache;
	unsigned epoch = roster_pin(&agents->roster, call)->epoch;
	uint64_t hash = slot_hash(id);
	scoped_lock(&cache->lock);

	cache->list[hash % OWNER_CACHE_SLOTS] = (struct cached_owner){hash, epoch, agent};
}
