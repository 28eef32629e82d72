/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi diverged: what hosts that returned have of volumes that other nodes took over.
 *
 * Invariant: nothing is destroyed but what the operator names, if only one node has that name, and
 * only by the statement --destroy.
 */
#include <string.h>

#include "controller/cli/failover/aside.h"
#include "controller/cli/failover/aside_mount.h"
#include "controller/cli/failover/who.h"
#include "controller/cli/print/statement.h"
#include "controller/cli/stream/send.h"

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
	const struct aside *found = aside_list(cli, name, &n);

	print(cli, found, n);
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
	const struct aside *aside = aside_find(cli, name, false, err);

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

static int mount(struct cli *cli, const char *name, const char *folder, struct error *err)
{
	const struct aside *aside = aside_find(cli, name, true, err);

	return aside ? aside_mount(cli, aside, folder, err) : -1;
}

static int diff(struct cli *cli, const char *name, struct error *err)
{
	DiffDivergedRequest *request = new_diff_diverged_request(&cli->arena);
	const struct aside *aside = aside_find(cli, name, true, err);

	if (!aside)
		return -1;
	request->name = aside->volume->name;
	return send_to_stdout(cli, aside->member,
			      &(struct download){.method = "DiffDiverged",
						 .request = &request->base,
						 .text = true},
			      err);
}

int cli_diverged(struct cli *cli, struct error *err)
{
	const char *verb = cli->args[0], *name = cli->n_args > 1 ? cli->args[1] : NULL;

	if (strcmp(verb, "list") == 0 && cli->n_args <= 2) {
		list(cli, name);
		return 0;
	}
	if (strcmp(verb, "mount") == 0 && cli->n_args == 3)
		return mount(cli, name, cli->args[2], err);
	if (strcmp(verb, "diff") == 0 && cli->n_args == 2)
		return diff(cli, name, err);
	if (strcmp(verb, "drop") == 0 && cli->n_args == 2)
		return drop(cli, name, err);
	return fail(err, ERR_INVALID_ARGUMENT,
		    "usage: zcsi diverged list, zcsi diverged mount NAME DIR, zcsi diverged diff "
		    "NAME, or zcsi diverged drop NAME");
}
