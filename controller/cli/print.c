/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The answer of a command.
 *
 * Invariant: no row is missing without a line on stderr, or a member of the JSON, that says so.
 */
#include "controller/cli/cli.h"

void cli_print(struct cli *cli, const struct table *table)
{
	struct silence *silences =
		arena_alloc(&cli->arena, (cli->n_members + 1) * sizeof(*silences));
	size_t n = 0;

	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *member = &cli->members[i];
		if (member->error.code != ERR_OK)
			silences[n++] = (struct silence){member->node, member->error.text};
	}
	table_print(stdout, table, &cli->style, silences, n);
	fflush(stdout);
	for (size_t i = 0; i < n && !cli->style.json; i++)
		fprintf(stderr, "zcsi: the answer of '%s' is missing: %s\n", silences[i].agent,
			silences[i].error);
	cli->degraded |= n > 0;
}
