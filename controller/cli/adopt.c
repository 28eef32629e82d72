/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi adopt: a dataset of a node becomes a volume: one that was received, or one that a person or
 * another driver has made.
 *
 * Invariant: the name is claimed before the agent makes the volume (claim.h), so no other agent has
 * or makes one of this name.
 */
#include "controller/cli/adopt.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"
#include "common/volume/format.h"
#include "controller/cli/claim.h"
#include "controller/cli/dry_run.h"
#include "proto/copy.h"

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

/* Checking and claiming the name of the volume */

static bool has_no_pool(const struct member *member)
{
	return member->host && !*member->host->dataset;
}

static int check_absent(const struct naming *naming, const struct member *member,
			const void *response, struct error *err)
{
	if (!((const GetDatasetResponse *)response)->dataset)
		return 0;
	return fail(err, ERR_ALREADY_EXISTS,
		    "volume '%s' exists on node '%s', and only a new one is made: choose another "
		    "name",
		    naming->name, member->node);
}

/* A volume that is made, and the function that makes it. */
struct maker {
	const struct making *making;
	making_fn *fn;
};

static int make(const struct naming *naming, uint64_t claim, struct error *err)
{
	const struct maker *maker = naming->arg;

	return maker->fn(maker->making, claim, err);
}

static struct naming naming_of(const struct making *making, const struct maker *maker)
{
	GetDatasetRequest *request = new_get_dataset_request(&making->cli->arena);

	request->id = arena_strdup(&making->cli->arena, making->id);
	return (struct naming){.cli = making->cli,
			       .kind = "volume",
			       .name = making->id,
			       .place = making->place,
			       .method = "GetDataset",
			       .request = &request->base,
			       .claim = &request->claim,
			       .target = &request->target,
			       .promised = offsetof(GetDatasetResponse, promised),
			       .check = check_absent,
			       .make = make,
			       .arg = maker};
}

/*
 * Check that no snapshot of a deleted volume of this name is left, because its id begins with the
 * name, as if it were of the new volume.
 */
static int check_snapshots(const struct making *making, const struct naming *naming,
			   struct error *err)
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
			return claim_fail_silent(naming, &cli->members[i], &replies[i].error, err);
		if (page->n_snapshots)
			return fail(
				err, ERR_ALREADY_EXISTS,
				"node '%s' still has the snapshot '%s' of a volume '%s': choose "
				"another name, or delete that",
				cli->members[i].node, page->snapshots[0]->id, making->id);
	}
	return 0;
}

int making_check(const struct making *making, struct error *err)
{
	const struct naming naming = naming_of(making, NULL);

	return claim_look(&naming, err) < 0 ? -1 : check_snapshots(making, &naming, err);
}

int making_claim(const struct making *making, making_fn *fn, struct error *err)
{
	const struct maker maker = {making, fn};
	const struct naming naming = naming_of(making, &maker);

	return claim_make(&naming, err);
}

/* Making the dataset the volume */

/* Returns the sentence for --dry-run. */
static const char *effect_of(const struct making *making)
{
	struct arena *arena = &making->cli->arena;

	if (making->dataset)
		return arena_printf(arena, "make dataset '%s' of node '%s' the volume '%s'",
				    making->dataset, making->place->node, making->id);
	return arena_printf(arena, "make what node '%s' received as '%s' a volume",
			    making->place->node, making->id);
}

static int adopt(const struct making *making, uint64_t claim, struct error *err)
{
	struct cli *cli = making->cli;
	AdoptDatasetRequest *request = new_adopt_dataset_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, making->id);
	request->claim = claim;
	request->guid = making->guid;
	request->size = making->size;
	request->format = arena_strdup(&cli->arena, making->format);
	if (making->dataset)
		request->dataset = arena_strdup(&cli->arena, making->dataset);
	if (making->parameters)
		request->parameters = arena_strdup(&cli->arena, making->parameters);
	request->properties = making->properties;
	request->n_properties = making->n_properties;
	const struct change change = {making->place, "AdoptDataset", &request->base,
				      effect_of(making)};
	return dry_run_or_send(cli, &change, err);
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

int making_begin(struct cli *cli, const char *id, struct making *ret, struct error *err)
{
	*ret = (struct making){
		.cli = cli, .id = id, .format = cli->format ? cli->format : FORMAT_ZFS};
	if (!format_find(ret->format) || !format_find(ret->format)->made)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "--format '%s' is none of zfs, block, ext4 and xfs", ret->format);
	if (cli->size && making_size("--size", cli->size, &ret->size, err) < 0)
		return -1;
	if (choose_place(ret, err) < 0)
		return -1;
	return making_check(ret, err);
}

/* Check that the node has received a dataset of the name, which AdoptDataset checks otherwise. */
static int check_received(const struct making *making, struct error *err)
{
	struct cli *cli = making->cli;
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, making->place, "ListReceived",
				 &new_list_received_request(&cli->arena)->base);
	const ListReceivedResponse *list = reply.response;

	for (size_t i = 0; list && i < list->n_ids; i++)
		if (strcmp(list->ids[i], making->id) == 0)
			return 0;
	*err = reply.error;
	return !list ? -1
		     : fail(err, ERR_NOT_FOUND,
			    "node '%s' has received nothing of the name '%s' that has a snapshot",
			    making->place->node, making->id);
}

static const char *received_dataset(struct arena *arena, const struct member *place, const char *id)
{
	char leaf[ESCAPE_LEAF_MAX + 1];

	escape_leaf(id, leaf);
	return arena_printf(arena, "%s/_received/%s", place->host->dataset, leaf);
}

const char *making_command(struct arena *arena, const struct member *place, const char *id)
{
	/* cli_adopt takes an id with a slash for a dataset. */
	if (strchr(id, '/') && place->host)
		return arena_printf(arena, "zcsi adopt %s --as %s",
				    received_dataset(arena, place, id), id);
	return arena_printf(arena, "zcsi adopt %s", id);
}

int cli_adopt(struct cli *cli, struct error *err)
{
	const char *what = cli->args[0], *slash = strrchr(what, '/');
	struct making making;

	if (making_begin(cli,
			 cli->as ? cli->as
			 : slash ? slash + 1
				 : what,
			 &making, err) < 0 ||
	    (cli->dry_run && !slash && !cli->as && check_received(&making, err) < 0))
		return -1;
	if (slash)
		making.dataset = what;
	else if (cli->as)
		making.dataset = received_dataset(&cli->arena, making.place, what);
	if (making.dataset && !cli->format)
		making.format = "";
	return making_adopt(&making, err);
}
