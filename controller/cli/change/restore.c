/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi restore: a snapshot becomes a new volume beside its own one, as CreateVolume with the
 * snapshot as its source makes it.
 *
 * Invariant: the volume of the snapshot does not change. The new volume is a clone, with the
 * parameters of that volume, so a CreateVolume of the orchestrator for it finds it as it expects.
 */
#include "controller/cli/adopt.h"

#include "controller/cli/change/snapshot_find.h"
#include "controller/cli/dry_run.h"
#include "controller/cli/print/amount.h"
#include "controller/host_volume/request.h"
#include "controller/request/capacity_range.h"
#include "controller/request/field.h"
#include "controller/request/parameters.h"

/* The new volume and its source. */
struct restore {
	struct making making;
	const DatasetSnapshot *snapshot;
	struct parameters parameters;
	const Dataset *made; /* NULL with --dry-run */
};

static int clone_for(const struct making *making, uint64_t claim, struct error *err)
{
	struct restore *restore = container_of(making, struct restore, making);
	struct arena *arena = &making->cli->arena;
	CreateDatasetRequest *request = new_create_dataset_request(arena);
	const DatasetSnapshot *snapshot = restore->snapshot;
	CreateDatasetResponse *response;

	request->id = arena_strdup(arena, making->id);
	request->size = making->size;
	request->format = arena_strdup(arena, making->format);
	request->source_snapshot = snapshot->id;
	request->claim = claim;
	parameters_create(arena, &restore->parameters, request);
	const struct change change = {
		making->place, "CreateDataset", &request->base,
		arena_printf(arena,
			     "make volume '%s' of %s on node '%s', a clone of snapshot '%s' of "
			     "volume '%s'",
			     making->id, amount_bytes(arena, (uint64_t)making->size),
			     making->place->node, snapshot->id, snapshot->dataset_id)};
	int asked = dry_run_or_ask(making->cli, &change, &response, err);
	if (asked <= 0)
		return asked;
	restore->made = response->dataset;
	return restore->made ? 0 : fail(err, ERR_INTERNAL, "the answer lacks the new volume");
}

/*
 * Read the parameters of the snapshot's volume. A deleted volume has none. Of a host volume the new
 * one does not get Nomad's id, by which zcsi-host-volume finds the volume.
 */
static int read_parameters(struct restore *restore, struct error *err)
{
	struct cli *cli = restore->making.cli;
	const char *id = restore->snapshot->dataset_id;
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) == 0)
		return parameters_parse_text(&cli->arena,
					     ((const Dataset *)volume->entry)->parameters,
					     ID_PARAMETER, &restore->parameters, err);
	if (err->code != ERR_NOT_FOUND)
		return -1;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "volume '%s' of snapshot '%s' is deleted: run 'zcsi trash restore %s' first",
		    id, restore->snapshot->id, id);
}

static int find(struct restore *restore, struct error *err)
{
	struct making *making = &restore->making;
	struct cli *cli = making->cli;
	const struct capacity_range any = {0};
	const DatasetSnapshot *snapshot;

	if (snapshot_find(cli, cli->args[0], &making->place, &snapshot, err) < 0)
		return -1;
	restore->snapshot = snapshot;
	making->id = cli->as;
	making->format = snapshot->format;
	if (!cli->as)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "nothing was done: a new volume of the snapshot needs a name, by --as "
			    "NAME; to make volume '%s' itself what it was, run 'zcsi rollback %s "
			    "%s'",
			    snapshot->dataset_id, snapshot->dataset_id, snapshot->id);
	if (field_check_name("--as", cli->as, err) < 0 || read_parameters(restore, err) < 0)
		return -1;
	return capacity_range_choose_from(&any, snapshot->size, &making->size, err);
}

static void print(const struct restore *restore)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT},    {"node", CELL_TEXT},  {"size", CELL_BYTES},
		{"made_from", CELL_TEXT}, {"state", CELL_TEXT},
	};
	const struct making *making = &restore->making;
	struct cli *cli = making->cli;
	const struct cell row[] = {
		{.text = making->id},
		{.text = making->place->node},
		{.number = restore->made->size},
		{.text = restore->snapshot->id},
		{.text = arena_printf(&cli->arena, "depends on the snapshot until 'zcsi detach %s'",
				      making->id)},
	};
	const struct table table = {"volume", columns, COUNT(columns), row, 1, true};

	table_print(stdout, &table, &cli->style, NULL, 0);
}

int cli_restore(struct cli *cli, struct error *err)
{
	struct restore restore = {.making = {.cli = cli}};

	if (find(&restore, err) < 0 || making_check(&restore.making, err) < 0 ||
	    making_claim(&restore.making, clone_for, err) < 0)
		return -1;
	if (restore.made)
		print(&restore);
	return 0;
}
