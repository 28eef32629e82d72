/* SPDX-License-Identifier: MPL-2.0 */
/*
 * How a command prints its rows, and two commands that do little else, zcsi nodes and zcsi
 * snapshots; and the list of the trash. zcsi snapshots lists the snapshots of one volume, or of
 * all, also of volumes in the trash. Agents list them in order of id, which begins with the id of
 * the volume. The output is the same for a volume without snapshots and for one that does not
 * exist.
 *
 * Invariant: if a row may be missing, a line on stderr, or a member of the JSON, says so. In zcsi
 * nodes the row of an agent that did not answer has the reason.
 */
#include <stdio.h>
#include <string.h>

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

/* Listing the snapshots */

static const ProtobufCMessage *ask_snapshots(struct arena *arena, const char *after,
					     const void *volume)
{
	ListDatasetSnapshotsRequest *request = new_list_dataset_snapshots_request(arena);

	request->after = arena_strdup(arena, after);
	request->dataset_id = arena_strdup(arena, volume ? volume : "");
	return &request->base;
}

static void *const *snapshots_in(const void *response, size_t *ret_n, bool *ret_more)
{
	const ListDatasetSnapshotsResponse *page = response;

	*ret_n = page->n_snapshots;
	*ret_more = page->more;
	return (void *const *)page->snapshots;
}

static const char *snapshot_id(const void *entry)
{
	return ((const DatasetSnapshot *)entry)->id;
}

const struct owned *cli_snapshots_of(struct cli *cli, const char *id, size_t *ret_n)
{
	static const struct fleet_list list = {"ListDatasetSnapshots", ask_snapshots, snapshots_in,
					       snapshot_id};

	return fleet_entries(cli->fleet, &cli->arena, cli->members, cli->n_members, &list, id,
			     ret_n);
}

struct table cli_snapshot_table(struct cli *cli, const struct owned *all, size_t n)
{
	static const struct column columns[] = {
		{"snapshot", CELL_TEXT},  {"volume", CELL_TEXT}, {"node", CELL_TEXT},
		{"created", CELL_MOMENT}, {"size", CELL_BYTES},  {"name", CELL_TEXT},
		{"group", CELL_TEXT},
	};
	struct cell(*cells)[COUNT(columns)] = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));

	for (size_t i = 0; i < n; i++) {
		const DatasetSnapshot *snapshot = all[i].entry;
		const struct cell row[] = {
			{.text = snapshot->id},       {.text = snapshot->dataset_id},
			{.text = all[i].owner->node}, {.number = snapshot->creation},
			{.number = snapshot->size},   {.text = snapshot->name},
			{.text = snapshot->group},
		};
		memcpy(cells[i], row, sizeof(row));
	}
	return (struct table){"snapshots", columns, COUNT(columns), *cells, n, false};
}

int cli_snapshots(struct cli *cli, struct error *err)
{
	size_t n;
	const struct owned *all = cli_snapshots_of(cli, cli->n_args ? cli->args[0] : NULL, &n);
	const struct table table = cli_snapshot_table(cli, all, n);

	(void)err;
	cli_print(cli, &table);
	return 0;
}

/* Listing the deleted volumes in the trash */

static const ProtobufCMessage *ask_trash(struct arena *arena, const char *after, const void *arg)
{
	ListTrashRequest *request = new_list_trash_request(arena);

	(void)arg;
	request->after = arena_strdup(arena, after);
	return &request->base;
}

static void *const *datasets_in(const void *response, size_t *ret_n, bool *ret_more)
{
	const ListTrashResponse *page = response;

	*ret_n = page->n_datasets;
	*ret_more = page->more;
	return (void *const *)page->datasets;
}

static const char *leaf_of(const void *entry)
{
	return ((const TrashedDataset *)entry)->leaf;
}

const struct owned *cli_trashed(struct cli *cli, const char *name, size_t *ret_n)
{
	static const struct fleet_list list = {"ListTrash", ask_trash, datasets_in, leaf_of};
	struct owned *all = fleet_entries(cli->fleet, &cli->arena, cli->members, cli->n_members,
					  &list, NULL, ret_n);
	size_t n = 0;

	for (size_t i = 0; name && i < *ret_n; i++) {
		const TrashedDataset *row = all[i].entry;
		if (strcmp(row->id, name) == 0 || strcmp(row->leaf, name) == 0)
			all[n++] = all[i];
	}
	if (name)
		*ret_n = n;
	return all;
}
