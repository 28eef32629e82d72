/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Claims: the wall clock's microseconds, shifted left, with random bits below.
 *
 * Invariant: a new claim is higher than every claim that this process made or received before, even
 * if the clock of another controller is ahead.
 */
#include "controller/claim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/volume/claim.h"
#include "common/volume/name.h"

#define PAUSE_MS 30

static _Atomic uint64_t highest;

void claim_heard(uint64_t claim)
{
	uint64_t seen = atomic_load(&highest);

	while (seen < claim && !atomic_compare_exchange_weak(&highest, &seen, claim))
		;
}

uint64_t claim_next(void)
{
	uint64_t claim = claim_above(atomic_load(&highest));

	claim_heard(claim);
	return claim;
}

uint64_t claim_us(uint64_t claim)
{
	return claim >> CLAIM_RANDOM_BITS;
}

bool claim_pause(int64_t deadline)
{
	struct timespec pause = {.tv_nsec = (1 + arc4random_uniform(PAUSE_MS)) * 1000000L};

	if (time_left_ms(deadline) < 2 * PAUSE_MS)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

bool claim_again(const struct error *err, int64_t deadline)
{
	return err->code == ERR_ABORTED && claim_pause(deadline);
}

static bool can_promise(const struct agent *agent)
{
	return !agent->state.dataset || *agent->state.dataset;
}

/*
 * Returns how many agents are more than half of those that can promise: of those that were asked,
 * and of those on the list, which may have changed since.
 */
static size_t majority(const struct roster *roster, const struct claim_answers *answers)
{
	size_t listed = 0, asked = 0;

	for (size_t i = 0; i < roster->named->n; i++)
		listed += can_promise(roster->named->list[i]);
	for (size_t i = 0; i < answers->n; i++)
		asked += can_promise(answers->list[i].agent);
	return (listed > asked ? listed : asked) / 2 + 1;
}

/*
 * Returns true if the agent has promised the name to a claim that is later than `claim`, and whose
 * target is this node or not known.
 */
static bool is_later_at(const Promise *promise, uint64_t node, uint64_t claim)
{
	for (size_t i = 0; i < promise->n_targets; i++) {
		const PromiseTarget *target = promise->targets[i];
		if ((!target->node || target->node == node) && target->claim > claim)
			return true;
	}
	return false;
}

/*
 * Returns the id of the agent's node; NULL if it is not known. Before the agent's first answer it
 * is the node recorded for its endpoint, once all other agents were asked for the names that they
 * keep of that node.
 */
static const char *node_id_of(const struct roster *roster, const struct agent_state *state)
{
	if (state->node_id)
		return state->node_id;
	return state->presumed && *state->presumed && state->names.asked == roster->ups
		       ? state->presumed
		       : NULL;
}

bool claim_excludes(struct roster *roster, const struct claim_answers *answers,
		    const struct agent *silent)
{
	scoped_lock(&roster->lock);
	const struct agent_state *state = &silent->state;
	const struct names *names = &state->names;
	const char *node_id = node_id_of(roster, state);
	size_t n = 0;

	if (!node_id || !names->barrier || names_may_have(names, answers->name))
		return false;
	for (size_t i = 0; i < answers->n; i++) {
		const Promise *promise = answers->list[i].promise;
		if (!promise)
			continue;
		if (is_later_at(promise, name_hash_node(node_id), names->barrier))
			return false;
		n += promise->forgot <= names->barrier;
	}
	return n >= majority(roster, answers);
}

/* The functions from here to node_of are called with the roster's lock. */

static bool is_of(const char *node_id, uint64_t node)
{
	return node_id && name_hash_node(node_id) == node;
}

/*
 * Returns true if one of the agents that were asked is the target's, or its node is lost, or was
 * forgotten after the claim. A host that returned since may create names for later claims. A claim
 * may be ahead of the clock by CLAIM_AHEAD_US.
 */
static bool is_covered(const struct roster *roster, const struct claim_answers *answers,
		       const PromiseTarget *target)
{
	const uint64_t node = target->node;

	for (size_t i = 0; i < answers->n; i++)
		if (is_of(node_id_of(roster, &answers->list[i].agent->state), node))
			return true;
	for (size_t i = 0; i < roster->named->n; i++) {
		const struct agent_state *state = &roster->named->list[i]->state;
		if (state->lost && is_of(state->node_id, node))
			return true;
	}
	for (size_t i = 0; i < roster->hosts.n; i++) {
		const struct host_row *row = &roster->hosts.rows[i];
		if (row->forgotten && claim_us(target->claim) <= row->stamp + CLAIM_AHEAD_US &&
		    is_of(row->node_id, node))
			return true;
	}
	return false;
}

/*
 * Returns true if the name may have been created at the target of an earlier claim: no agent that
 * was asked is the target's, and the last names read from it do not go up to that claim.
 */
static bool target_elsewhere(const struct roster *roster, const struct claim_answers *answers,
			     const PromiseTarget *target)
{
	if (!target->node || is_covered(roster, answers, target))
		return false;
	for (const struct absent *host = roster->absent; host; host = host->next)
		if (is_of(host->node_id, target->node))
			return target->claim > host->names.barrier;
	return true;
}

/* Returns the id of the node with this hash; "unknown" if no known host has it. */
static const char *node_of(const struct roster *roster, uint64_t node)
{
	for (size_t i = 0; i < roster->hosts.n; i++)
		if (is_of(roster->hosts.rows[i].node_id, node))
			return roster->hosts.rows[i].node_id;
	return "unknown";
}

int claim_check_targets(struct roster *roster, const struct claim_answers *answers,
			const char *what, struct error *err)
{
	scoped_lock(&roster->lock);

	for (size_t i = 0; i < answers->n; i++) {
		const Promise *promise = answers->list[i].promise;
		for (size_t k = 0; promise && k < promise->n_targets; k++) {
			const PromiseTarget *target = promise->targets[k];
			if (target_elsewhere(roster, answers, target))
				return fail(err, ERR_UNAVAILABLE,
					    "%s may have been created on node '%s', which is not "
					    "on the list of agents: try again when it is; if that "
					    "host will not come back, type 'zcsi forget' and "
					    "its node",
					    what, node_of(roster, target->node));
		}
	}
	return 0;
}
