/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi list, show and status: the volumes of all agents.
 *
 * Invariant: a volume that two agents have is shown twice, so that neither looks like the only one.
 * A volume that another node has taken over since is not shown for its former node.
 */
#include <string.h>

#include "controller/cli/copies.h"
#include "controller/cli/move.h"

#define FULL_PERCENT 95

static const ProtobufCMessage *ask_volumes(struct arena *arena, const char *after, const void *arg)
{
	ListDatasetsRequest *request = new_list_datasets_request(arena);

	(void)arg;
	request->after = arena_strdup(arena, after);
	return &request->base;
}

static void *const *volumes_in(const void *response, size_t *ret_n, bool *ret_more)
{
	const ListDatasetsResponse *page = response;

	*ret_n = page->n_datasets;
	*ret_more = page->more;
	return (void *const *)page->datasets;
}

static const char *volume_id(const void *entry)
{
	return ((const Dataset *)entry)->id;
}

struct owned *cli_volumes(struct cli *cli, const char *id, size_t *ret_n)
{
	static const struct fleet_list list = {"ListDatasets", ask_volumes, volumes_in, volume_id};
	struct owned *all = fleet_entries(cli->fleet, &cli->arena, cli->members, cli->n_members,
					  &list, NULL, ret_n);
	size_t n = 0;

	for (size_t i = 0; i < *ret_n; i++) {
		const Dataset *volume = all[i].entry;
		if (!*volume->taken_over_by && (!id || strcmp(all[i].id, id) == 0))
			all[n++] = all[i];
	}
	*ret_n = n;
	return all;
}

const char *const *cli_users(struct cli *cli, const Dataset *volume)
{
	const char **users = arena_alloc(&cli->arena, (volume->n_published + 1) * sizeof(*users));

	for (size_t i = 0; i < volume->n_published; i++)
		users[i] = volume->published[i]->node_id;
	return users;
}

/* Returns the size of a volume; -1 if it has no limit, for which agents report the size 0. */
static int64_t limit(const Dataset *volume)
{
	return volume->size ? volume->size : -1;
}

int cli_list(struct cli *cli, struct error *err)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT}, {"node", CELL_TEXT},     {"format", CELL_TEXT},
		{"size", CELL_BYTES},  {"used", CELL_BYTES},    {"created", CELL_MOMENT},
		{"parent", CELL_TEXT}, {"used_by", CELL_WORDS},
	};
	size_t n;
	const struct owned *volumes = cli_volumes(cli, NULL, &n);
	struct cell(*cells)[COUNT(columns)] = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));

	(void)err;
	for (size_t i = 0; i < n; i++) {
		const Dataset *volume = volumes[i].entry;
		const struct cell row[] = {
			{.text = volume->id},
			{.text = volumes[i].owner->node},
			{.text = volume->format},
			{.number = limit(volume)},
			{.number = volume->used},
			{.number = volume->creation},
			{.text = volumes[i].owner->host->dataset},
			{.words = cli_users(cli, volume)},
		};
		memcpy(cells[i], row, sizeof(row));
	}
	cli_print(cli, &(struct table){"volumes", columns, COUNT(columns), *cells, n, false});
	return 0;
}

/* Returns the parameters of a volume as words: its text has one "key=value" a line. */
static const char *const *parameters(struct cli *cli, const Dataset *volume)
{
	char *text = arena_strdup(&cli->arena, volume->parameters), *state;
	const char **words = arena_alloc(&cli->arena, (strlen(text) + 1) * sizeof(*words));
	size_t n = 0;

	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		words[n++] = line;
	return words;
}

static void show_one(struct cli *cli, const struct owned *owned)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT},      {"node", CELL_TEXT},     {"dataset", CELL_TEXT},
		{"format", CELL_TEXT},      {"size", CELL_BYTES},    {"used", CELL_BYTES},
		{"created", CELL_MOMENT},   {"used_by", CELL_WORDS}, {"made_from", CELL_TEXT},
		{"parameters", CELL_WORDS},
	};
	const Dataset *volume = owned->entry;
	const struct cell row[] = {
		{.text = volume->id},
		{.text = owned->owner->node},
		{.text = volume->name},
		{.text = volume->format},
		{.number = limit(volume)},
		{.number = volume->used},
		{.number = volume->creation},
		{.words = cli_users(cli, volume)},
		{.text = *volume->source_snapshot ? volume->source_snapshot
						  : volume->source_dataset},
		{.words = parameters(cli, volume)},
	};

	cli_print(cli, &(struct table){"volume", columns, COUNT(columns), row, 1, true});
}

int cli_volume(struct cli *cli, const char *id, const struct owned **ret, struct error *err)
{
	size_t n;
	const struct owned *volumes = cli_volumes(cli, id, &n);

	*ret = volumes;
	if (n == 1)
		return 0;
	if (n > 1)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' exists on '%s' and on '%s': rename one of the two with "
			    "'zfs rename'",
			    id, volumes[0].owner->node, volumes[1].owner->node);
	for (size_t i = 0; i < cli->n_members; i++)
		if (cli->members[i].error.code != ERR_OK)
			return fail(err, ERR_UNAVAILABLE,
				    "volume '%s' is on no agent that answers, and '%s' does not: "
				    "%s",
				    id, cli->members[i].node, cli->members[i].error.text);
	return fail(err, ERR_NOT_FOUND,
		    "volume '%s' does not exist; 'zcsi list' prints those that do", id);
}

int cli_show(struct cli *cli, struct error *err)
{
	const struct owned *volume;

	if (cli_volume(cli, cli->args[0], &volume, err) < 0)
		return -1;
	show_one(cli, volume);
	return 0;
}

bool cli_nearly_full(const Dataset *volume)
{
	int64_t used = volume->used, size = volume->size;

	return size && used / size * 100 + used % size * 100 / size >= FULL_PERCENT;
}

const struct owned *cli_duplicate(const struct owned *volumes, size_t n, size_t at)
{
	if (at > 0 && strcmp(volumes[at - 1].id, volumes[at].id) == 0)
		return &volumes[at - 1];
	if (at + 1 < n && strcmp(volumes[at + 1].id, volumes[at].id) == 0)
		return &volumes[at + 1];
	return NULL;
}

/* Returns what is wrong with a volume, or NULL. */
static const char *problem_of(struct cli *cli, const struct owned *volumes, size_t n, size_t at)
{
	const Dataset *volume = volumes[at].entry;
	const struct owned *duplicate = cli_duplicate(volumes, n, at);

	if (duplicate)
		return arena_printf(&cli->arena, "exists on %s too", duplicate->owner->node);
	return cli_nearly_full(volume) ? "nearly full" : NULL;
}

#define STATUS_COLUMNS 7

/* Fill in the rows of the volumes that agents list. */
static void add_volumes(struct cli *cli, const struct owned *volumes, size_t n,
			struct cell (*cells)[STATUS_COLUMNS])
{
	const struct reply *pushes = copies_ask(cli, "");

	for (size_t i = 0; i < n; i++) {
		const Dataset *volume = volumes[i].entry;
		const char *trouble, *problem = problem_of(cli, volumes, n, i);
		const char *const *copies = copies_of(cli, pushes, volume->id, &trouble);
		const struct cell row[STATUS_COLUMNS] = {
			{.text = volume->id},
			{.text = volumes[i].owner->node},
			{.number = volume->used},
			{.number = limit(volume)},
			{.words = cli_users(cli, volume)},
			{.words = copies},
			{.text = trouble   ? trouble
				 : problem ? problem
					   : "ok"},
		};
		memcpy(cells[i], row, sizeof(row));
		cli->degraded |= trouble || problem;
	}
}

/*
 * Set the state of the volumes that move. A volume that no agent lists, since its node has given it
 * up and the other node does not have it yet, gets a row of its own, and counts as trouble. Returns
 * the number of rows.
 */
static size_t add_moves(struct cli *cli, size_t n, const struct move_seen *moves, size_t n_moves,
			struct cell (*cells)[STATUS_COLUMNS])
{
	size_t all = n;

	for (size_t i = 0; i < n_moves; i++) {
		const MoveState *move = moves[i].state;
		bool listed = false;
		if (!move->running)
			continue;
		for (size_t k = 0; k < n; k++) {
			if (strcmp(cells[k][0].text, move->id) != 0)
				continue;
			listed = true;
			if (strcmp(cells[k][STATUS_COLUMNS - 1].text, "ok") == 0)
				cells[k][STATUS_COLUMNS - 1].text = move_text(cli, move);
		}
		if (listed || !move->given_up)
			continue;
		cells[all][0] = (struct cell){.text = move->id};
		cells[all][2].number = cells[all][3].number = -1;
		cells[all++][STATUS_COLUMNS - 1].text = move_text(cli, move);
		cli->degraded = true;
	}
	return all;
}

int cli_status(struct cli *cli, struct error *err)
{
	static const struct column columns[STATUS_COLUMNS] = {
		{"volume", CELL_TEXT}, {"node", CELL_TEXT},     {"used", CELL_BYTES},
		{"size", CELL_BYTES},  {"used_by", CELL_WORDS}, {"copies", CELL_WORDS},
		{"state", CELL_TEXT},
	};
	size_t n, n_moves;
	const struct move_seen *moves = move_list(cli, "", &n_moves);
	const struct owned *volumes = cli_volumes(cli, NULL, &n);
	struct cell(*cells)[STATUS_COLUMNS] =
		arena_alloc(&cli->arena, (n + n_moves + 1) * sizeof(*cells));

	(void)err;
	add_volumes(cli, volumes, n, cells);
	n = add_moves(cli, n, moves, n_moves, cells);
	cli_print(cli, &(struct table){"volumes", columns, STATUS_COLUMNS, *cells, n, false});
	return 0;
}
