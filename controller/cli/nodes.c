/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi nodes: every agent, whether it answers or not.
 *
 * Invariant: a row without an answer says why, so stderr does not repeat it.
 */
#include <string.h>

#include "controller/cli/cli.h"

static const char *state_of(const struct member *member)
{
	if (!member->host)
		return member->error.text;
	return *member->host->problem ? member->host->problem : "ok";
}

int cli_nodes(struct cli *cli, struct error *err)
{
	static const struct column columns[] = {
		{"node", CELL_TEXT},       {"agent", CELL_TEXT},   {"dataset", CELL_TEXT},
		{"available", CELL_BYTES}, {"version", CELL_TEXT}, {"state", CELL_TEXT},
	};
	size_t n = cli->n_members;
	struct cell(*cells)[COUNT(columns)] = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));

	(void)err;
	for (size_t i = 0; i < n; i++) {
		const struct member *member = &cli->members[i];
		const GetHostResponse *host = member->host;
		bool usable = host && *host->dataset && !*host->problem;
		const struct cell row[] = {
			{.text = host ? host->node_id : NULL},
			{.text = member->endpoint},
			{.text = host ? host->dataset : NULL},
			{.number = usable ? host->available : -1},
			{.text = host ? host->version : NULL},
			{.text = state_of(member)},
		};
		memcpy(cells[i], row, sizeof(row));
		cli->degraded |= !host || *host->problem;
	}
	const struct table table = {"nodes", columns, COUNT(columns), *cells, n, false};
	table_print(stdout, &table, &cli->style, NULL, 0);
	return 0;
}
