/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi trash: the deleted volumes, which can be restored until their time is over.
 *
 * Invariant: a volume is restored only if it is the only one that the command line can mean, and
 * after all agents have promised its name, as for a new volume (adopt.h).
 */
#include <string.h>

#include "controller/cli/adopt.h"
#include "controller/cli/dry_run.h"
#include "controller/cli/mend/empty.h"

static void list(struct cli *cli, const char *name)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT},  {"node", CELL_TEXT},       {"deleted", CELL_MOMENT},
		{"until", CELL_MOMENT}, {"snapshots", CELL_COUNT}, {"size", CELL_BYTES},
		{"used", CELL_BYTES},   {"in_trash", CELL_TEXT},
	};
	size_t n;
	const struct owned *all = cli_trashed(cli, name, &n);
	struct cell(*cells)[COUNT(columns)] = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));

	for (size_t i = 0; i < n; i++) {
		const TrashedDataset *each = all[i].entry;
		const struct cell row[] = {
			{.text = each->id},
			{.text = all[i].owner->node},
			{.number = each->deleted ? each->deleted : -1},
			{.number = each->until ? each->until : -1},
			{.number = each->snapshots},
			{.number = each->size ? each->size : -1},
			{.number = each->used},
			{.text = each->leaf},
		};
		memcpy(cells[i], row, sizeof(row));
	}
	cli_print(cli, &(struct table){"trash", columns, COUNT(columns), *cells, n, false});
}

/* Returns an agent that did not list its trash, or NULL. */
static const struct member *silent(const struct cli *cli)
{
	for (size_t i = 0; i < cli->n_members; i++)
		if (!cli->members[i].host || cli->members[i].error.code != ERR_OK)
			return &cli->members[i];
	return NULL;
}

static int find_one(struct cli *cli, const char *name, const struct owned **ret, struct error *err)
{
	size_t n;

	*ret = cli_trashed(cli, name, &n);
	const struct member *mute = silent(cli);
	if (mute)
		return fail(err, ERR_UNAVAILABLE,
			    "'%s' did not report what is in its trash: %s; all agents must answer",
			    mute->node, mute->error.text);
	if (n == 0)
		return fail(err, ERR_NOT_FOUND,
			    "no trash has a volume '%s'; 'zcsi trash list' prints what there is",
			    name);
	if (n > 1)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "%zu deleted volumes are named '%s'; choose one by its name in the "
			    "last column of 'zcsi trash list %s'",
			    n, name, name);
	return 0;
}

static int restore_for(const struct making *making, uint64_t claim, struct error *err)
{
	struct cli *cli = making->cli;
	RestoreDatasetRequest *request = new_restore_dataset_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, making->id);
	request->guid = making->guid;
	request->claim = claim;
	const struct change change = {
		making->place, "RestoreDataset", &request->base,
		arena_printf(&cli->arena,
			     "make the deleted volume '%s' on node '%s' a volume again", making->id,
			     making->place->node)};
	return dry_run_or_send(cli, &change, err);
}

static int restore(struct cli *cli, const char *name, struct error *err)
{
	const struct owned *found;

	if (find_one(cli, name, &found, err) < 0)
		return -1;
	const TrashedDataset *row = found->entry;
	const struct making making = {
		.cli = cli, .id = row->id, .place = found->owner, .guid = row->guid};
	return making_claim(&making, restore_for, err);
}

int cli_trash(struct cli *cli, struct error *err)
{
	const char *verb = cli->args[0], *name = cli->n_args > 1 ? cli->args[1] : NULL;

	if (strcmp(verb, "list") == 0) {
		list(cli, name);
		return 0;
	}
	if (strcmp(verb, "restore") == 0 && name)
		return restore(cli, name, err);
	if (strcmp(verb, "empty") == 0)
		return empty_trash(cli, name, err);
	return fail(err, ERR_INVALID_ARGUMENT,
		    "usage: zcsi trash list, zcsi trash restore VOLUME, or zcsi trash empty");
}
