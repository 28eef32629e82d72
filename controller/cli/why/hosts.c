/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The sentences about hosts that cannot be asked, from the records that other agents keep of these
 * hosts, and about copies and deleted volumes on other hosts if no agent lists the volume.
 *
 * Invariant: if a host may have the volume, no sentence says that it does not have it.
 */
#include "controller/cli/why/why.h"

#include <string.h>

#include "common/volume/escape.h"
#include "controller/cli/known.h"
#include "controller/cli/print/amount.h"
#include "proto/copy.h"

#define USEC 1000000

/* A host that does not list its volumes. */
struct absent {
	const char *name;    /* the node id, or the endpoint if no agent keeps the id */
	const char *node_id; /* NULL: no agent keeps it */
	const char *why;
	bool listed; /* the host's agent is in the list of agents */
};

enum had { HAD, HAD_NOT, HAD_UNKNOWN };

/* Ask all agents whether the host had the volume. *ret_read is when its names were read. */
static enum had ask_kept(struct why *why, const struct absent *absent, int64_t *ret_read)
{
	const GetKeptNamesResponse *kept =
		absent->node_id ? known_names(why->cli, absent->node_id) : NULL;

	*ret_read = kept ? kept->read / USEC : 0;
	if (!kept)
		return HAD_UNKNOWN;
	return known_volume(kept, why->id) ? HAD : HAD_NOT;
}

/* Add the sentence about a host. Returns true if the host may have the volume. */
static bool say_absent(struct why *why, const struct absent *absent)
{
	struct arena *arena = &why->cli->arena;
	int64_t read;
	enum had had = ask_kept(why, absent, &read);
	const char *when = amount_moment(arena, read);
	enum why_effect effect = why->n_volumes ? WHY_MAY_STOP : WHY_STOPS;

	if (had == HAD && !why->n_volumes)
		why_say(why, effect,
			arena_printf(arena, "it was on node '%s' at %s, and %s", absent->name, when,
				     absent->why));
	else if (had == HAD)
		why_say(why, effect,
			arena_printf(arena, "node '%s' had a volume of this name too at %s, and %s",
				     absent->name, when, absent->why));
	else if (had == HAD_NOT && !why->n_volumes)
		why_say(why, WHY_FACT,
			arena_printf(arena, "node '%s' did not have it at %s, and %s", absent->name,
				     when, absent->why));
	else if (had == HAD_UNKNOWN && !why->n_volumes)
		why_say(why, effect,
			arena_printf(arena, "it may be on '%s', and %s", absent->name,
				     absent->why));
	else if (had == HAD_UNKNOWN && absent->listed)
		why_say(why, effect,
			arena_printf(arena, "'%s' may have a volume of this name too, and %s",
				     absent->name, absent->why));
	return had != HAD_NOT;
}

/* Returns the record of the host at an agent's endpoint, or NULL if no agent keeps one. */
static const KnownHost *host_of(const struct member *member, const KnownHost *const *hosts,
				size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(hosts[i]->endpoint, member->endpoint) == 0)
			return hosts[i];
	return NULL;
}

/* Returns true if the host of an agent that does not list its volumes may have the volume. */
static bool say_silent(struct why *why, const struct member *member, const KnownHost *host)
{
	const char *node_id = member->host ? member->node : host ? host->node_id : NULL;
	const struct absent absent = {
		node_id ? node_id : member->endpoint, node_id,
		arena_printf(
			&why->cli->arena,
			"its agent did not list its volumes: %s; if it is down, start zcsi-node "
			"there",
			member->error.text),
		true};

	if (!member->host && host && !*host->dataset)
		return false; /* the host has no pool */
	return say_absent(why, &absent);
}

/* Returns true if a host whose agent was not asked may have the volume. */
static bool say_unlisted(struct why *why, const KnownHost *host)
{
	const struct absent absent = {
		host->node_id, host->node_id,
		arena_printf(&why->cli->arena,
			     "its agent, %s, was not asked; add it to the agents (--agent)",
			     host->endpoint),
		false};

	return say_absent(why, &absent);
}

/* Returns true if the volume is moving away from an agent, about which why_moves has a sentence. */
static bool is_leaving(const struct why *why, const struct member *member)
{
	for (size_t i = 0; i < why->n_moves; i++)
		if (why->moves[i].from == member && why->moves[i].state->running)
			return true;
	return false;
}

/* Add the errors of agents that refuse calls for a volume without listing it. True if any does. */
static bool say_accounts(struct why *why)
{
	struct cli *cli = why->cli;
	bool any = false;

	for (size_t i = 0; i < cli->n_members && !why->n_volumes; i++) {
		const struct member *member = &cli->members[i];
		const struct reply *account = &why->accounts[i];
		if (!member->host || !*member->host->dataset || member->error.code != ERR_OK ||
		    account->response || account->error.code == ERR_NOT_FOUND ||
		    is_leaving(why, member))
			continue;
		why_say(why, WHY_STOPS,
			arena_printf(&cli->arena, "node '%s': %s", member->node,
				     account->error.text));
		any = true;
	}
	return any;
}

bool why_hosts(struct why *why)
{
	struct cli *cli = why->cli;
	size_t n;
	const KnownHost *const *hosts = known_hosts(cli, &n);
	bool may = say_accounts(why);

	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *member = &cli->members[i];
		if (member->error.code != ERR_OK)
			may |= say_silent(why, member, host_of(member, hosts, n));
	}
	for (size_t i = 0; i < n; i++)
		if (!hosts[i]->forgotten && *hosts[i]->dataset && !known_listed(cli, hosts[i]))
			may |= say_unlisted(why, hosts[i]);
	return may;
}

/* The rest of a volume that no agent lists, or that was deleted */

static void say_copy(struct why *why, const struct member *member, const CopyState *copy)
{
	struct arena *arena = &why->cli->arena;
	const char *nodes = "";

	for (size_t i = 0; i < copy->n_node_ids; i++)
		if (strcmp(copy->node_ids[i], member->node) != 0)
			nodes = arena_printf(arena, "%s%s'%s'", nodes, *nodes ? ", " : "",
					     copy->node_ids[i]);
	why_say(why, WHY_FACT,
		arena_printf(
			arena,
			"node '%s' has a copy of it, of %s; nodes with its data were also %s; "
			"if the node that has it is lost, 'zcsi failover %s --lost NODE' has "
			"another one take it over; if it was deleted, 'zfs destroy -r %s' there "
			"destroys the copy",
			member->node,
			copy->n_snapshots ? amount_moment(arena, copy->snapshots[0]->creation)
					  : "no time, since it is not complete",
			nodes, why->id, copy->name));
}

static void say_copies(struct why *why)
{
	struct cli *cli = why->cli;
	ListCopiesRequest *request = new_list_copies_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, why->id);
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListCopies", &request->base);
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListCopiesResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_copies; k++)
			say_copy(why, &cli->members[i], list->copies[k]->copy);
	}
}

/* Returns true if a rollback or a detach put the dataset into the trash: no volume was deleted. */
static bool is_former(struct arena *arena, const TrashedDataset *entry)
{
	const char *begin = arena_printf(arena, "old-%s-", escape_text(arena, entry->id));

	return strncmp(entry->leaf, begin, strlen(begin)) == 0;
}

static void say_trashed(struct why *why, const struct owned *owned)
{
	struct arena *arena = &why->cli->arena;
	const TrashedDataset *entry = owned->entry;
	const char *node = owned->owner->node;
	const char *snapshots = "";

	if (is_former(arena, entry)) {
		why_say(why, WHY_FACT,
			arena_printf(arena,
				     "the trash of node '%s' has what it was before a rollback or "
				     "a detach, as 'zcsi trash list %s' shows",
				     node, why->id));
		return;
	}
	if (entry->snapshots)
		snapshots = arena_printf(arena, ", whose snapshots 'zcsi snapshots %s' prints",
					 why->id);
	why_say(why, WHY_FACT,
		arena_printf(arena,
			     "the trash of node '%s' has a deleted volume of this name%s; 'zcsi "
			     "trash list %s' shows until when, and 'zcsi trash restore %s' brings "
			     "it back if no other one has its name",
			     node, snapshots, why->id, entry->leaf));
}

void why_remains(struct why *why)
{
	size_t n;

	if (!why->n_volumes)
		say_copies(why);
	const struct owned *trash = cli_trashed(why->cli, why->id, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(((const TrashedDataset *)trash[i].entry)->id, why->id) == 0)
			say_trashed(why, &trash[i]);
}
