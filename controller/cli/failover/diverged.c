/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi diverged: what hosts that returned have of volumes that other nodes took over.
 *
 * Invariant: nothing is destroyed but what the operator names, if only one node has that name, and
 * only by the statement --destroy.
 */
#include <string.h>

#include "controller/cli/failover/who.h"
#include "controller/cli/print/statement.h"
#include "proto/copy.h"

struct aside {
	const struct member *member;
	const DivergedVolume *volume;
};

/* Returns what all agents have put aside, or what has the id or the name. */
static struct aside *find(struct cli *cli, const char *name, size_t *ret_n)
{
	const ListDivergedRequest *request = new_list_diverged_request(&cli->arena);
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListDiverged", &request->base);
	size_t most = 1;

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListDivergedResponse *list = replies[i].response;
		most += list ? list->n_volumes : 0;
		if (cli->members[i].host && !list)
			cli->members[i].error = replies[i].error;
	}
	struct aside *found = arena_alloc(&cli->arena, most * sizeof(*found));
	*ret_n = 0;
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListDivergedResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_volumes; k++) {
			const DivergedVolume *row = list->volumes[k];
			if (!name || strcmp(row->id, name) == 0 || strcmp(row->name, name) == 0)
				found[(*ret_n)++] = (struct aside){&cli->members[i], row};
		}
	}
	return found;
}

static void print(struct cli *cli, const struct aside *rows, size_t n)
{
	static const struct column columns[] = {{"volume", CELL_TEXT}, {"node", CELL_TEXT},
						{"name", CELL_TEXT},   {"taken_by", CELL_TEXT},
						{"used", CELL_BYTES},  {"created", CELL_MOMENT}};
	struct cell(*cells)[COUNT(columns)] = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));

	for (size_t i = 0; i < n; i++) {
		const DivergedVolume *each = rows[i].volume;
		const struct cell row[] = {
			{.text = each->id},     {.text = rows[i].member->node},
			{.text = each->name},   {.text = each->owner_node_id},
			{.number = each->used}, {.number = each->creation},
		};
		memcpy(cells[i], row, sizeof(row));
	}
	cli_print(cli, &(struct table){"diverged", columns, COUNT(columns), *cells, n, false});
}

static void list(struct cli *cli, const char *name)
{
	size_t n;
	const struct aside *found = find(cli, name, &n);

	print(cli, found, n);
}

/* Returns what has this name, on the node of --node if that is given; NULL with *err. */
static const struct aside *find_one(struct cli *cli, const char *name, struct error *err)
{
	size_t n, fit = 0;
	const struct aside *found = find(cli, name, &n), *one = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(found[i].volume->name, name) != 0 ||
		    (cli->node && strcmp(found[i].member->node, cli->node) != 0))
			continue;
		one = &found[i];
		fit++;
	}
	if (fit > 1)
		fail(err, ERR_FAILED_PRECONDITION, "several nodes have '%s': add --node NODE",
		     name);
	else if (!one)
		fail(err, ERR_NOT_FOUND,
		     "no node that answers has put '%s' aside; 'zcsi diverged list' prints the "
		     "names",
		     name);
	return fit == 1 ? one : NULL;
}

static int destroy(struct cli *cli, const struct aside *aside, struct error *err)
{
	DropDivergedRequest *request = new_drop_diverged_request(&cli->arena);

	request->name = aside->volume->name;
	request->by = who_runs(&cli->arena);
	const struct reply reply = fleet_ask_member(cli->fleet, &cli->arena, aside->member,
						    "DropDiverged", &request->base);
	*err = reply.error;
	return reply.response ? 0 : -1;
}

static int drop(struct cli *cli, const char *name, struct error *err)
{
	const struct aside *aside = find_one(cli, name, err);

	if (!aside)
		return -1;
	const struct destruction one = {.command = arena_printf(&cli->arena,
								"zcsi diverged drop %s --node %s",
								name, aside->member->node),
					.fact = "it is 1 dataset",
					.what = "it",
					.n = 1};
	int stated = statement_check(&one, cli->destroy, err);
	if (stated < 0)
		return -1;
	if (stated && !cli->dry_run)
		return destroy(cli, aside, err);
	print(cli, aside, 1);
	if (!cli->dry_run) {
		statement_ask(&one);
		cli->degraded = true;
	}
	return 0;
}

int cli_diverged(struct cli *cli, struct error *err)
{
	const char *verb = cli->args[0], *name = cli->n_args > 1 ? cli->args[1] : NULL;

	if (strcmp(verb, "list") == 0) {
		list(cli, name);
		return 0;
	}
	if (strcmp(verb, "drop") == 0 && name)
		return drop(cli, name, err);
	return fail(err, ERR_INVALID_ARGUMENT,
		    "write zcsi diverged list, or zcsi diverged drop NAME");
}
