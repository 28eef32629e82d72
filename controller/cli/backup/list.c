/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi backup list: the backups of all volumes, or the snapshots in those of one volume.
 *
 * Invariant: a backup is "ok" only if its last known run has succeeded and no interrupted stream
 * is left.
 */
#include "controller/cli/backup/list.h"

#include <string.h>

/* Returns true if the newest snapshot is two periods old; now: the time by the agent's clock. */
static bool is_late(const BackupState *state, int64_t now)
{
	return state->every > 0 && state->n_snapshots &&
	       now - state->snapshots[0]->creation > 2 * state->every;
}

/* Returns the state in a few words, and in *ret_bad whether an operator has to act. */
static const char *state_of(const BackupState *state, int64_t now, bool *ret_bad)
{
	bool late = is_late(state, now);

	*ret_bad = !state->busy && (*state->error || *state->token || !state->n_snapshots || late);
	if (state->busy)
		return "running";
	if (*state->error)
		return state->error;
	if (*state->token)
		return "interrupted";
	if (!state->n_snapshots)
		return "empty";
	return late ? "late" : "ok";
}

void list_kept(struct cli *cli, const struct kept_backup *list, size_t n)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT},   {"node", CELL_TEXT},       {"from", CELL_TEXT},
		{"newest", CELL_MOMENT}, {"snapshots", CELL_COUNT}, {"used", CELL_BYTES},
		{"every", CELL_COUNT},   {"keep", CELL_TEXT},       {"verified", CELL_MOMENT},
		{"state", CELL_TEXT},
	};
	struct cell(*cells)[COUNT(columns)] = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));

	for (size_t i = 0; i < n; i++) {
		const BackupState *state = list[i].state;
		bool bad;
		const char *text = state_of(state, list[i].now, &bad);
		const struct cell row[] = {
			{.text = state->id},
			{.text = list[i].member->node},
			{.text = state->from_node_id},
			{.number = state->n_snapshots ? state->snapshots[0]->creation : -1},
			{.number = state->count},
			{.number = state->used},
			{.number = state->every > 0 ? state->every : -1},
			{.text = *state->keep ? state->keep : NULL},
			{.number = state->verified ? state->verified : -1},
			{.text = text},
		};
		memcpy(cells[i], row, sizeof(row));
		cli->degraded |= bad;
	}
	cli_print(cli, &(struct table){"backups", columns, COUNT(columns), *cells, n, false});
}

static void list_all(struct cli *cli)
{
	size_t n;
	const struct kept_backup *list = kept_backups(cli, "", &n);

	list_kept(cli, list, n);
}

static void list_one(struct cli *cli, const char *id)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT},
		{"node", CELL_TEXT},
		{"created", CELL_MOMENT},
		{"snapshot", CELL_TEXT},
	};
	size_t n, n_rows = 0, at = 0;
	const struct kept_backup *list = kept_backups(cli, id, &n);

	for (size_t i = 0; i < n; i++)
		n_rows += list[i].state->n_snapshots;
	struct cell(*cells)[COUNT(columns)] =
		arena_alloc(&cli->arena, (n_rows + 1) * sizeof(*cells));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < list[i].state->n_snapshots; k++) {
			const CopySnapshot *snapshot = list[i].state->snapshots[k];
			const struct cell row[] = {
				{.text = list[i].state->id},
				{.text = list[i].member->node},
				{.number = snapshot->creation},
				{.text = snapshot->name},
			};
			memcpy(cells[at++], row, sizeof(row));
		}
	cli_print(cli,
		  &(struct table){"snapshots", columns, COUNT(columns), *cells, n_rows, false});
}

void list_backups(struct cli *cli, const char *id)
{
	if (id)
		list_one(cli, id);
	else
		list_all(cli);
}
