/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi forget: a host that never comes back. Agents keep for controllers which names it had, and
 * these names cannot be made again; after this command they can.
 *
 * Invariant: a host is forgotten only if it does not answer and --gone states that it is gone. Only
 * the records of agents about the host change, and no data anywhere.
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "controller/cli/copies.h"
#include "controller/cli/known.h"
#include "controller/cli/print/amount.h"

#define USEC 1000000

/* A fact about the host, for a row. */
struct fact {
	const char *volume; /* NULL: the fact is about the host itself */
	const char *text;
	const char *line; /* the command to run first, or NULL */
	struct fact *next;
};

struct forgetting {
	struct cli *cli;
	const KnownHost *host;
	const GetKeptNamesResponse *names; /* NULL: no agent keeps the names of the host */
	struct fact *facts, **end;
	size_t n;
};

static void say(struct forgetting *all, const char *volume, const char *text, const char *line)
{
	struct fact *fact = arena_alloc(&all->cli->arena, sizeof(*fact));

	*fact = (struct fact){volume, text, line, NULL};
	*all->end = fact;
	all->end = &fact->next;
	all->n++;
}

/* The host */

static int find_host(struct forgetting *all, const char *node, struct error *err)
{
	size_t n;
	const KnownHost *const *hosts = known_hosts(all->cli, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(hosts[i]->node_id, node) == 0)
			all->host = hosts[i];
	if (all->host && !all->host->forgotten)
		return 0;
	if (all->host)
		return fail(err, ERR_NOT_FOUND, "node '%s' was forgotten before", node);
	return fail(
		err, ERR_NOT_FOUND,
		"no agent that answers has node '%s' on its list; 'zcsi nodes' prints those that "
		"answer",
		node);
}

/* Returns true if zcsi did not call the agent, because its endpoint must not be used. */
static bool is_unasked(const struct member *member)
{
	const enum error_code code = member->error.code;

	return !member->host && (code == ERR_FAILED_PRECONDITION || code == ERR_INVALID_ARGUMENT);
}

/* Returns true if an agent answers at the endpoint, and does not return its node id. */
static bool refuses(const struct member *member)
{
	const enum error_code code = member->error.code;

	return !member->host && !is_unasked(member) && code != ERR_UNAVAILABLE &&
	       code != ERR_DEADLINE_EXCEEDED;
}

/* Returns the member at the host's last endpoint; if the list has none, call the endpoint. */
static struct member ask_last(struct cli *cli, const KnownHost *host)
{
	for (size_t i = 0; i < cli->n_members; i++)
		if (strcmp(cli->members[i].endpoint, host->endpoint) == 0)
			return cli->members[i];
	return fleet_who(cli->fleet, &cli->arena, host->endpoint);
}

/* Check that the host answers neither at its last endpoint nor at those of --agent. */
static int check_silent(struct forgetting *all, struct error *err)
{
	struct cli *cli = all->cli;
	const KnownHost *host = all->host;
	struct member last = {.error.code = ERR_UNAVAILABLE};
	bool answers = fleet_has(cli->members, cli->n_members, host);

	if (!answers)
		last = ask_last(cli, host);
	if (refuses(&last))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "the agent of node '%s' does not return its node id, so the node is "
			    "not forgotten: see 'zcsi nodes'",
			    host->node_id);
	if (is_unasked(&last))
		say(all, NULL,
		    arena_printf(&cli->arena, "it was not asked whether it is up: %s",
				 last.error.text),
		    NULL);
	if (!answers && (!last.host || strcmp(last.host->node_id, host->node_id) != 0))
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "node '%s' answers, or its pool does on another node, so it is not forgotten: "
		    "delete its volumes or move them, and stop its zcsi-node first",
		    host->node_id);
}

/* The facts */

static void say_names(struct forgetting *all)
{
	struct arena *arena = &all->cli->arena;

	if (!*all->host->dataset)
		say(all, NULL, "it had no pool, so it had no volumes", NULL);
	else if (all->names)
		say(all, NULL,
		    arena_printf(arena,
				 "it had %zu names of volumes, snapshots and groups at %s, which "
				 "can be made again then",
				 all->names->n_hashes,
				 amount_moment(arena, all->names->read / USEC)),
		    NULL);
	else
		say(all, NULL,
		    "no agent keeps its names, so no new name can be made until it is forgotten",
		    NULL);
}

static bool is_owned(const struct owned *volumes, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(volumes[i].id, id) == 0)
			return true;
	return false;
}

/* Returns true if the host had the volume, or may have had it. */
static bool had(const struct forgetting *all, const HeldCopy *copy)
{
	if (all->names)
		return known_volume(all->names, copy->id);
	for (size_t i = 0; i < copy->copy->n_node_ids; i++)
		if (strcmp(copy->copy->node_ids[i], all->host->node_id) == 0)
			return true;
	return false;
}

/* Add a fact for each complete copy of a volume that no node has. */
static void say_copies(struct forgetting *all, const struct owned *volumes, size_t n)
{
	struct cli *cli = all->cli;
	const struct reply *replies = fleet_ask(cli->fleet, &cli->arena, "ListCopies",
						&new_list_copies_request(&cli->arena)->base);

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListCopiesResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_copies; k++) {
			const HeldCopy *copy = list->copies[k];
			if (is_owned(volumes, n, copy->id) || !copy->copy->n_snapshots ||
			    !had(all, copy))
				continue;
			say(all, copy->id,
			    arena_printf(&cli->arena, "its copy on node '%s' can take its place",
					 cli->members[i].node),
			    arena_printf(&cli->arena, "zcsi failover %s --lost %s", copy->id,
					 all->host->node_id));
		}
	}
}

/* Add a fact for each volume of another node that was attached to the host. */
static void say_attached(struct forgetting *all, const struct owned *volumes, size_t n)
{
	struct arena *arena = &all->cli->arena;
	const char *node = all->host->node_id;

	for (size_t i = 0; i < n; i++) {
		const Dataset *volume = volumes[i].entry;
		for (size_t k = 0; k < volume->n_published; k++)
			if (strcmp(volume->published[k]->node_id, node) == 0)
				say(all, volume->id, "it is attached to the node",
				    arena_printf(arena, "zcsi unpublish %s %s --force", volume->id,
						 node));
	}
}

/* Add a fact for each volume of another node of which the host had a copy, or was to have one. */
static void say_pushes(struct forgetting *all)
{
	struct cli *cli = all->cli;
	const char *node = all->host->node_id;
	const struct reply *replies = copies_ask(cli, "");

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListPushesResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_pushes; k++)
			if (strcmp(list->pushes[k]->node_id, node) == 0)
				say(all, list->pushes[k]->id, "the node is to have a copy of it",
				    arena_printf(&cli->arena, "zcsi copy drop %s %s --gone",
						 list->pushes[k]->id, node));
	}
}

static void say_all(struct forgetting *all)
{
	size_t n;
	const struct owned *volumes = cli_volumes(all->cli, NULL, &n);

	all->names = known_names(all->cli, all->host->node_id);
	say_names(all);
	say_copies(all, volumes, n);
	say_attached(all, volumes, n);
	say_pushes(all);
}

static void print(struct forgetting *all)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT}, {"fact", CELL_TEXT}, {"type", CELL_TEXT}};
	struct cli *cli = all->cli;
	struct cell(*cells)[COUNT(columns)] =
		arena_alloc(&cli->arena, (all->n + 1) * sizeof(*cells));
	size_t n = 0;

	for (const struct fact *fact = all->facts; fact; fact = fact->next) {
		cells[n][0].text = fact->volume;
		cells[n][1].text = fact->text;
		cells[n++][2].text = fact->line;
	}
	/* Print no warning that the agent of the forgotten host does not answer. */
	for (size_t i = 0; i < cli->n_members; i++)
		if (strcmp(cli->members[i].endpoint, all->host->endpoint) == 0)
			cli->members[i].error = (struct error){.code = ERR_OK};
	cli_print(cli, &(struct table){"forget", columns, COUNT(columns), *cells, n, false});
}

static int forget(struct forgetting *all, struct error *err)
{
	struct cli *cli = all->cli;
	KeepHostsRequest *request = new_keep_hosts_request(&cli->arena);
	KnownHost *host = new_known_host(&cli->arena);
	const uint64_t now = (uint64_t)wall_us();
	size_t n = 0;

	host->node_id = all->host->node_id;
	host->endpoint = all->host->endpoint;
	host->dataset = all->host->dataset;
	host->pool_guid = all->host->pool_guid;
	host->since = all->host->since;
	host->stamp = now > all->host->stamp ? now : all->host->stamp + 1;
	host->forgotten = true;
	request->hosts = &host;
	request->n_hosts = 1;
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "KeepHosts", &request->base);
	for (size_t i = 0; i < cli->n_members; i++) {
		n += replies[i].response != NULL;
		if (!replies[i].response)
			cli->members[i].error = *err = replies[i].error;
	}
	return n ? 0 : fail_context(err, "node '%s' is not forgotten", host->node_id);
}

int cli_forget(struct cli *cli, struct error *err)
{
	struct forgetting all = {.cli = cli, .end = &all.facts};

	if (find_host(&all, cli->args[0], err) < 0 || check_silent(&all, err) < 0)
		return -1;
	say_all(&all);
	if (cli->gone && !cli->dry_run && forget(&all, err) < 0)
		return -1;
	print(&all);
	if (cli->gone || cli->dry_run)
		return 0;
	fprintf(stderr,
		"zcsi: nothing was done; if node '%s' never comes back with its pool, run 'zcsi "
		"forget %s --gone'\n",
		all.host->node_id, all.host->node_id);
	cli->degraded = true;
	return 0;
}
