/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Claiming the name of a new volume or snapshot.
 *
 * Invariant: a volume or snapshot is made only after every agent promised its name to our claim,
 * and every host of which an agent has a record is among these agents. So no agent has the name,
 * nor makes it for another caller.
 */
#include "controller/cli/claim.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/claim.h"
#include "common/volume/name.h"
#include "controller/cli/known.h"

#define TRIES    20 /* how often a name is claimed while others claim it too */
#define PAUSE_MS 50

int claim_fail_silent(const struct naming *naming, const struct member *member,
		      const struct error *why, struct error *err)
{
	return fail(err, ERR_UNAVAILABLE,
		    "'%s' did not report whether it has a %s '%s': %s; all agents must answer",
		    member->node, naming->kind, naming->name, why->text);
}

/* Only the latest record of a host counts: an agent that was down may have an older one. */
static int check_known(const struct naming *naming, const struct reply *replies, struct error *err)
{
	size_t n;
	const KnownHost *const *hosts = known_in(naming->cli, replies, &n);

	for (size_t i = 0; i < n; i++) {
		const KnownHost *host = hosts[i];
		if (!host->forgotten && *host->dataset &&
		    !fleet_has(naming->cli->members, naming->cli->n_members, host))
			return fail(err, ERR_UNAVAILABLE,
				    "node '%s' is none of the agents that were asked, and may have "
				    "a %s '%s': give its agent too; if it never comes back, run "
				    "'zcsi forget %s'",
				    host->node_id, naming->kind, naming->name, host->node_id);
	}
	return 0;
}

/*
 * Check that all agents answer, and that every host of which one of them has a record is among
 * them.
 */
static int check_hosts(const struct naming *naming, struct error *err)
{
	struct cli *cli = naming->cli;
	const struct reply *replies = known_ask(cli);

	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *member = &cli->members[i];
		if (!member->host)
			return claim_fail_silent(naming, member, &member->error, err);
		if (!replies[i].response)
			return claim_fail_silent(naming, member, &replies[i].error, err);
	}
	return check_known(naming, replies, err);
}

static bool has_no_pool(const struct member *member)
{
	return member->host && !*member->host->dataset;
}

/*
 * Ask all agents for the name, with the claim unless it is 0. *ret_promised is the highest claim
 * that an agent has promised to another caller and that is not lower than ours; 0: none has.
 * Returns 0, or -1 with *err if an agent does not answer, or naming->check fails.
 */
static int ask_all(const struct naming *naming, uint64_t claim, uint64_t *ret_promised,
		   struct error *err)
{
	struct cli *cli = naming->cli;

	*ret_promised = 0;
	*naming->claim = claim;
	*naming->target = claim ? name_hash_node(naming->place->node) : 0;
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, naming->method, naming->request);
	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *member = &cli->members[i];
		const void *response = replies[i].response;
		bool lacks = response || has_no_pool(member) ||
			     (!claim && replies[i].error.code == ERR_NOT_FOUND);
		if (!lacks)
			return claim_fail_silent(naming, member, &replies[i].error, err);
		if (!response)
			continue;
		if (naming->check(naming, member, response, err) < 0)
			return -1;
		uint64_t promised = *(const uint64_t *)((const char *)response + naming->promised);
		if (promised > *ret_promised)
			*ret_promised = promised;
	}
	return 0;
}

int claim_look(const struct naming *naming, struct error *err)
{
	uint64_t promised;

	return check_hosts(naming, err) < 0 ? -1 : ask_all(naming, 0, &promised, err);
}

/* *ret is a claim of the name that all agents have promised. */
static int claim_name(const struct naming *naming, uint64_t *ret, struct error *err)
{
	uint64_t promised = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		*ret = claim_above(promised);
		if (ask_all(naming, *ret, &promised, err) < 0)
			return -1;
		if (!promised)
			return 0;
		poll(NULL, 0, (int)arc4random_uniform(PAUSE_MS));
	}
	return fail(err, ERR_ABORTED, "%s '%s' is being created by another call: try again",
		    naming->kind, naming->name);
}

static int claim_once(const struct naming *naming, struct error *err)
{
	uint64_t claim;

	/* A claim changes what agents promise to other callers. */
	if (naming->cli->dry_run)
		return claim_look(naming, err) < 0 ? -1 : naming->make(naming, 0, err);
	if (check_hosts(naming, err) < 0 || claim_name(naming, &claim, err) < 0)
		return -1;
	return naming->make(naming, claim, err);
}

/* ABORTED: another call has claimed the name since, so claim it again. */
int claim_make(const struct naming *naming, struct error *err)
{
	int failed = claim_once(naming, err);

	for (unsigned i = 1; failed && err->code == ERR_ABORTED && i < TRIES; i++) {
		poll(NULL, 0, (int)arc4random_uniform(PAUSE_MS));
		failed = claim_once(naming, err);
	}
	return failed;
}
