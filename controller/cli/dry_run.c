/* SPDX-License-Identifier: MPL-2.0 */
/*
 * --dry-run: the calls of a command that would change something are replaced by sentences.
 *
 * Invariant: with --dry-run no call of a command changes anything. fleet.c checks that too, and
 * sends only calls that read.
 */
#include "controller/cli/dry_run.h"

#include <string.h>

bool dry_run_says(struct cli *cli, const char *text)
{
	const size_t n = cli->n_would;

	if (!cli->dry_run)
		return false;
	struct cell *cells = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));
	if (n)
		memcpy(cells, cli->would, n * sizeof(*cells));
	cells[n].text = cli->style.json ? text : arena_printf(&cli->arena, "would %s", text);
	cli->would = cells;
	cli->n_would = n + 1;
	return true;
}

int dry_run_or_ask(struct cli *cli, const struct change *change, void *ret_response,
		   struct error *err)
{
	if (dry_run_says(cli, change->text))
		return 0;
	const struct reply reply = fleet_ask_member(cli->fleet, &cli->arena, change->member,
						    change->method, change->request);
	*(void **)ret_response = reply.response;
	*err = reply.error;
	return reply.response ? 1 : -1;
}

int dry_run_or_send(struct cli *cli, const struct change *change, struct error *err)
{
	void *ignored;

	return dry_run_or_ask(cli, change, &ignored, err) < 0 ? -1 : 0;
}

void dry_run_print(const struct cli *cli)
{
	static const struct column columns[] = {{"would", CELL_TEXT}};
	const struct style style = {.bare = true, .json = cli->style.json};
	const struct table table = {"dry_run",  columns,      COUNT(columns),
				    cli->would, cli->n_would, false};

	if (cli->n_would)
		table_print(stdout, &table, &style, NULL, 0);
}
