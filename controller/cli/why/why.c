/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi why: everything that stops a volume or could stop it, on one page. It asks the agents alone,
 * so it works while Nomad and all controllers are down.
 *
 * Invariant: nothing is changed, and a sentence that says that something is wrong says what to do,
 * or repeats what the agent says.
 */
#include "controller/cli/why/why.h"

#include <string.h>

#include "controller/cli/copies.h"

void why_mend(struct why *why, enum why_effect effect, const char *text, const char *type)
{
	struct why_line *line = arena_alloc(&why->cli->arena, sizeof(*line));

	*line = (struct why_line){.effect = effect, .text = text, .type = type};
	*why->end = line;
	why->end = &line->next;
}

void why_say(struct why *why, enum why_effect effect, const char *text)
{
	why_mend(why, effect, text, NULL);
}

static size_t count(const struct why *why, enum why_effect effect)
{
	size_t n = 0;

	for (const struct why_line *line = why->lines; line; line = line->next)
		n += line->effect == effect;
	return n;
}

/* Ask all agents about the volume. An agent's error while listing is stored in its member. */
static void ask(struct why *why)
{
	struct cli *cli = why->cli;
	GetDatasetRequest *request = new_get_dataset_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, why->id);
	why->volumes = cli_volumes(cli, why->id, &why->n_volumes);
	why->moves = move_list(cli, why->id, &why->n_moves);
	why->pushes = copies_ask(cli, why->id);
	why->accounts = fleet_ask(cli->fleet, &cli->arena, "GetDataset", &request->base);
}

/* Returns the one of several volumes of one name that zcsi advises to rename. */
static const struct owned *spare(const struct why *why)
{
	const struct owned *spare = &why->volumes[0];

	for (size_t i = 1; i < why->n_volumes; i++) {
		const Dataset *one = why->volumes[i].entry, *other = spare->entry;
		if (one->maybe_blank != other->maybe_blank ? one->maybe_blank
							   : one->creation >= other->creation)
			spare = &why->volumes[i];
	}
	return spare;
}

void why_twice(struct why *why)
{
	const struct owned *goes = spare(why);
	const char *name = ((const Dataset *)goes->entry)->name;
	struct arena *arena = &why->cli->arena;
	const char *nodes = "";

	for (size_t i = 0; i < why->n_volumes; i++)
		nodes = arena_printf(arena, "%s%snode '%s'", nodes, *nodes ? " and " : "",
				     why->volumes[i].owner->node);
	why_mend(why, WHY_STOPS,
		 arena_printf(arena,
			      "it exists on %s: calls for it fail until only one is left; look at "
			      "them, and rename the one that is to go, such as that of node '%s' "
			      "there",
			      nodes, goes->owner->node),
		 arena_printf(arena, "zfs rename %s %s-%s", name, name, goes->owner->node));
}

static void say_all(struct why *why)
{
	if (why->n_volumes > 1)
		why_twice(why);
	for (size_t i = 0; i < why->n_volumes; i++) {
		why_volume(why, &why->volumes[i]);
		why_copies(why, &why->volumes[i]);
	}
	bool moves = why_moves(why), elsewhere = why_hosts(why);
	why_remains(why);
	if (!why->n_volumes && !moves && !elsewhere)
		why_say(why, WHY_STOPS,
			"no node that answers has a volume of this name; 'zcsi list' prints those "
			"that exist");
}

/* Returns the sentence, with the command that mends it. */
static const char *sentence(struct why *why, const struct why_line *line)
{
	if (!line->type || strstr(line->text, line->type))
		return line->text;
	return arena_printf(&why->cli->arena, "%s; run '%s'", line->text, line->type);
}

/* Print the page: the worst first, and the verdict in the end. */
static void print(struct why *why)
{
	static const struct column columns[] = {{"effect", CELL_TEXT}, {"reason", CELL_TEXT}};
	static const char *const effects[] = {
		[WHY_STOPS] = "stops", [WHY_MAY_STOP] = "may stop", [WHY_FACT] = NULL};
	struct cli *cli = why->cli;
	size_t stops = count(why, WHY_STOPS), may = count(why, WHY_MAY_STOP);
	size_t n = stops + may + count(why, WHY_FACT);
	struct cell(*cells)[COUNT(columns)] = arena_alloc(&cli->arena, (n + 1) * sizeof(*cells));

	n = 0;
	for (size_t effect = 0; effect < COUNT(effects); effect++)
		for (const struct why_line *line = why->lines; line; line = line->next) {
			if (line->effect != effect)
				continue;
			cells[n][0].text = effects[effect];
			cells[n++][1].text = sentence(why, line);
		}
	if (!stops)
		cells[n++][1].text = may ? "nothing stops it now" : "nothing stops it";
	const struct table table = {"why", columns, COUNT(columns), *cells, n, false};
	table_print(stdout, &table, &cli->style, NULL, 0);
	cli->failed = stops > 0;
	cli->degraded = may > 0;
}

int cli_why(struct cli *cli, struct error *err)
{
	struct why why = {.cli = cli, .id = cli->args[0]};

	(void)err;
	why.end = &why.lines;
	ask(&why);
	say_all(&why);
	print(&why);
	return 0;
}
