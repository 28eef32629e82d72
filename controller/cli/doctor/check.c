/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi check: what each host lacks for its volumes, as zcsi-node --check prints it on the host.
 *
 * Invariant: an agent that does not answer is named, so a table without a missing thing means that
 * every host that was asked has what all volumes need.
 */
#include <stdio.h>
#include <string.h>

#include "controller/cli/cli.h"

enum level { LEVEL_MISSING, LEVEL_OPTIONAL, LEVEL_OK };

/* The answers of the agents, by their number; zero for agents that were not asked. */
struct checks {
	struct cli *cli;
	struct reply *replies;
};

static enum level level_of(const CheckedThing *thing)
{
	if (!*thing->remedy)
		return LEVEL_OK;
	return thing->needed ? LEVEL_MISSING : LEVEL_OPTIONAL;
}

static void ask_all(struct checks *checks)
{
	struct cli *cli = checks->cli;

	checks->replies = fleet_ask(cli->fleet, &cli->arena, "CheckHost",
				    &new_check_host_request(&cli->arena)->base);
	for (size_t i = 0; i < cli->n_members; i++)
		if (cli->members[i].host && !checks->replies[i].response)
			cli->members[i].error = checks->replies[i].error;
}

static int ask_node(struct checks *checks, const char *node, struct error *err)
{
	struct cli *cli = checks->cli;
	const struct member *member = fleet_node(cli->members, cli->n_members, node);

	if (!member)
		return fail(err, ERR_NOT_FOUND, "no agent that answers is that of node '%s'", node);
	const struct reply reply = fleet_ask_member(cli->fleet, &cli->arena, member, "CheckHost",
						    &new_check_host_request(&cli->arena)->base);
	*err = reply.error;
	if (!reply.response)
		return fail_context(err, "node '%s' did not report what it lacks", node);
	checks->replies = arena_alloc(&cli->arena, cli->n_members * sizeof(*checks->replies));
	checks->replies[member - cli->members] = reply;
	for (size_t i = 0; i < cli->n_members; i++) /* Only this agent was asked. */
		cli->members[i].error = (struct error){.code = ERR_OK};
	return 0;
}

#define COLUMNS 4

/* Fill in a row for each checked thing of a level on a node; if cells is NULL, only count them. */
static size_t fill(const struct checks *checks, enum level level, size_t at,
		   struct cell (*cells)[COLUMNS])
{
	static const char *const levels[] = {
		[LEVEL_MISSING] = "MISSING", [LEVEL_OPTIONAL] = "optional", [LEVEL_OK] = "ok"};
	const CheckHostResponse *response = checks->replies[at].response;
	size_t n = 0;

	for (size_t i = 0; response && i < response->n_things; i++) {
		const CheckedThing *thing = response->things[i];
		if (level_of(thing) != level)
			continue;
		if (cells) {
			const struct cell row[COLUMNS] = {
				{.text = levels[level]},
				{.text = checks->cli->members[at].node},
				{.text = thing->thing},
				{.text = *thing->remedy ? thing->remedy : NULL},
			};
			memcpy(cells[n], row, sizeof(row));
		}
		n++;
	}
	return n;
}

/* Fill in the rows of all levels up to `last`, the worst first; if cells is NULL, only count. */
static size_t fill_all(const struct checks *checks, enum level last, struct cell (*cells)[COLUMNS])
{
	size_t n = 0;

	for (enum level level = LEVEL_MISSING; level <= last; level++)
		for (size_t i = 0; i < checks->cli->n_members; i++)
			n += fill(checks, level, i, cells ? cells + n : NULL);
	return n;
}

static bool all_answer(const struct cli *cli)
{
	for (size_t i = 0; i < cli->n_members; i++)
		if (cli->members[i].error.code != ERR_OK)
			return false;
	return true;
}

/* Print the table. Things that are OK are only for programs, or if a node is named. */
static void print(struct checks *checks)
{
	static const struct column columns[COLUMNS] = {{"state", CELL_TEXT},
						       {"node", CELL_TEXT},
						       {"thing", CELL_TEXT},
						       {"remedy", CELL_TEXT}};
	struct cli *cli = checks->cli;
	bool for_programs = cli->style.bare || cli->style.json;
	const enum level last = for_programs || cli->n_args ? LEVEL_OK : LEVEL_OPTIONAL;
	const size_t n = fill_all(checks, last, NULL);
	struct cell(*cells)[COLUMNS] = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));

	cli->degraded |= fill_all(checks, LEVEL_MISSING, NULL) > 0;
	fill_all(checks, last, cells);
	if (n || for_programs || !all_answer(cli))
		cli_print(cli, &(struct table){"things", columns, COLUMNS, *cells, n, false});
	else
		puts("nothing is missing");
}

int cli_check(struct cli *cli, struct error *err)
{
	struct checks checks = {.cli = cli};

	if (!cli->n_args)
		ask_all(&checks);
	else if (ask_node(&checks, cli->args[0], err) < 0)
		return -1;
	print(&checks);
	return 0;
}
