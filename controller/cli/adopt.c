/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi adopt: what was received becomes a volume. The name is claimed as a controller claims it
 * (controller/README.md), and then the agent makes the volume.
 *
 * Invariant: a volume is made only after every agent promised its name to our claim, and every host
 * of the cluster that an agent knows of is among them. So none has a volume of this name, nor makes
 * one for another caller.
 */
#include "controller/cli/adopt.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/volume/format.h"
#include "common/volume/name.h"

#define RANDOM_BITS 12 /* the low bits of a claim are random, the others its time in microseconds */
#define TRIES       20 /* how often a name is claimed while others claim it too */
#define PAUSE_MS    50

int making_size(const char *what, const char *text, int64_t *ret, struct error *err)
{
	static const char units[] = "KMGTP";
	char *end;
	int64_t number = strtoll(text, &end, 10);
	const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;

	for (const char *at = units; unit && at <= unit && number < INT64_MAX / 1024; at++)
		number *= 1024;
	if (end != text && number > 0 && number < INT64_MAX / 1024 &&
	    (!*end || (unit && !end[1]))) {
		*ret = number;
		return 0;
	}
	return fail(err, ERR_INVALID_ARGUMENT, "%s '%s' is not a number of bytes, such as 10G",
		    what, text);
}

/* The name */

static bool has_no_pool(const struct member *member)
{
	return member->host && !*member->host->dataset;
}

static int fail_exists(const struct making *making, const struct member *member, struct error *err)
{
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' exists on node '%s', and only a new one is made: choose another "
		    "name",
		    making->id, member->node);
}

static int fail_silent(const struct making *making, const struct member *member,
		       const struct error *why, struct error *err)
{
	return fail(err, ERR_UNAVAILABLE,
		    "'%s' does not say whether it has a volume '%s': %s; all agents must answer",
		    member->node, making->id, why->text);
}

static int check_known(const struct making *making, const ListKnownHostsResponse *known,
		       struct error *err)
{
	for (size_t i = 0; i < known->n_hosts; i++) {
		const KnownHost *host = known->hosts[i];
		if (!host->forgotten && *host->dataset &&
		    !fleet_has(making->cli->members, making->cli->n_members, host))
			return fail(err, ERR_UNAVAILABLE,
				    "node '%s' is none of the agents that were asked, and may have "
				    "a volume '%s': give its agent too; if it never comes back, "
				    "type 'zcsi forget %s'",
				    host->node_id, making->id, host->node_id);
	}
	return 0;
}

/* Check that every host of the cluster is asked, as far as any of them knows. */
static int check_hosts(const struct making *making, struct error *err)
{
	struct cli *cli = making->cli;
	const struct reply *replies = fleet_ask(cli->fleet, &cli->arena, "ListKnownHosts",
						&new_list_known_hosts_request(&cli->arena)->base);

	for (size_t i = 0; i < cli->n_members; i++) {
		if (!cli->members[i].host)
			return fail_silent(making, &cli->members[i], &cli->members[i].error, err);
		if (!replies[i].response)
			return fail_silent(making, &cli->members[i], &replies[i].error, err);
		if (check_known(making, replies[i].response, err) < 0)
			return -1;
	}
	return 0;
}

/* Check that no snapshot of a deleted volume of this name is left: its id begins with the name. */
static int check_snapshots(const struct making *making, struct error *err)
{
	struct cli *cli = making->cli;
	ListDatasetSnapshotsRequest *request = new_list_dataset_snapshots_request(&cli->arena);

	request->dataset_id = arena_strdup(&cli->arena, making->id);
	request->max = 1;
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListDatasetSnapshots", &request->base);
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListDatasetSnapshotsResponse *page = replies[i].response;
		if (!page)
			return fail_silent(making, &cli->members[i], &replies[i].error, err);
		if (page->n_snapshots)
			return fail(
				err, ERR_ALREADY_EXISTS,
				"node '%s' still has the snapshot '%s' of a volume '%s': choose "
				"another name, or delete that",
				cli->members[i].node, page->snapshots[0]->id, making->id);
	}
	return 0;
}

/*
 * Ask all agents for the name, with a claim; 0: without. *ret_promised is the highest claim that is
 * in the way; 0: none is. Returns 0, or -1 with *err if one has the name or does not answer.
 */
static int ask_all(const struct making *making, uint64_t claim, uint64_t *ret_promised,
		   struct error *err)
{
	struct cli *cli = making->cli;
	GetDatasetRequest *request = new_get_dataset_request(&cli->arena);

	*ret_promised = 0;
	request->id = arena_strdup(&cli->arena, making->id);
	request->claim = claim;
	request->target = claim ? name_hash_node(making->place->node) : 0;
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "GetDataset", &request->base);
	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *member = &cli->members[i];
		const GetDatasetResponse *response = replies[i].response;
		if (response && response->dataset)
			return fail_exists(making, member, err);
		if (response && response->promised > *ret_promised)
			*ret_promised = response->promised;
		bool lacks = response || has_no_pool(member) ||
			     (!claim && replies[i].error.code == ERR_NOT_FOUND);
		if (!lacks)
			return fail_silent(making, member, &replies[i].error, err);
	}
	return 0;
}

int making_check(const struct making *making, struct error *err)
{
	uint64_t promised;

	if (check_hosts(making, err) < 0 || ask_all(making, 0, &promised, err) < 0)
		return -1;
	return check_snapshots(making, err);
}

/* *ret is a claim of the name that all agents have promised. */
static int claim_name(const struct making *making, uint64_t *ret, struct error *err)
{
	uint64_t promised = 0;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t us = (uint64_t)wall_us(), after = (promised >> RANDOM_BITS) + 1;
		*ret = (us > after ? us : after) << RANDOM_BITS |
		       arc4random_uniform(1U << RANDOM_BITS);
		if (ask_all(making, *ret, &promised, err) < 0)
			return -1;
		if (!promised)
			return 0;
		poll(NULL, 0, (int)arc4random_uniform(PAUSE_MS));
	}
	return fail(err, ERR_ABORTED, "volume '%s' is being created by another call: try again",
		    making->id);
}

static int claim_once(const struct making *making, making_fn *fn, struct error *err)
{
	uint64_t claim;

	if (check_hosts(making, err) < 0 || claim_name(making, &claim, err) < 0)
		return -1;
	return fn(making, claim, err);
}

/* ABORTED: another call has claimed the name since, so claim it again. */
int making_claim(const struct making *making, making_fn *fn, struct error *err)
{
	int failed = claim_once(making, fn, err);

	for (unsigned i = 1; failed && err->code == ERR_ABORTED && i < TRIES; i++) {
		poll(NULL, 0, (int)arc4random_uniform(PAUSE_MS));
		failed = claim_once(making, fn, err);
	}
	return failed;
}

/* Make it the volume */

static int adopt(const struct making *making, uint64_t claim, struct error *err)
{
	struct cli *cli = making->cli;
	AdoptDatasetRequest *request = new_adopt_dataset_request(&cli->arena);
	AdoptDatasetResponse *response;

	request->id = arena_strdup(&cli->arena, making->id);
	request->claim = claim;
	request->guid = making->guid;
	request->size = making->size;
	request->format = arena_strdup(&cli->arena, making->format);
	if (making->parameters)
		request->parameters = arena_strdup(&cli->arena, making->parameters);
	request->properties = making->properties;
	request->n_properties = making->n_properties;
	struct client_call *call = fleet_begin(cli->fleet, &cli->arena, making->place->at,
					       "AdoptDataset", &request->base);
	return client_finish(call, &response, err);
}

int making_adopt(const struct making *making, struct error *err)
{
	return making_claim(making, adopt, err);
}

/* Choose the node: that of --node, or the only one with a pool. */
static int choose_place(struct making *making, struct error *err)
{
	struct cli *cli = making->cli;

	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *member = &cli->members[i];
		if (!member->host || has_no_pool(member) ||
		    (cli->node && strcmp(cli->node, member->node) != 0))
			continue;
		if (making->place)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "several nodes have a pool: choose one with --node");
		making->place = member;
	}
	if (making->place)
		return 0;
	if (cli->node)
		return fail(err, ERR_NOT_FOUND,
			    "no agent that answers is that of node '%s' and has a pool", cli->node);
	return fail(err, ERR_UNAVAILABLE, "no agent that answers has a pool");
}

int making_begin(struct cli *cli, struct making *ret, struct error *err)
{
	*ret = (struct making){
		.cli = cli, .id = cli->args[0], .format = cli->format ? cli->format : FORMAT_ZFS};
	if (!format_find(ret->format) || !format_find(ret->format)->made)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--format '%s' is none of zfs, block, ext4 and xfs", ret->format);
	if (cli->size && making_size("--size", cli->size, &ret->size, err) < 0)
		return -1;
	if (choose_place(ret, err) < 0)
		return -1;
	return making_check(ret, err);
}

int cli_adopt(struct cli *cli, struct error *err)
{
	struct making making;

	if (making_begin(cli, &making, err) < 0)
		return -1;
	return making_adopt(&making, err);
}
