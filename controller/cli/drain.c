/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi drain: the volumes of a node move to the nodes that have copies of them, two at a time. The
 * agent of the node carries the moves out (move.h); this command begins them, and watches.
 *
 * Invariant: without --dry-run, which begins no move, the exit status is 0 only after the node's
 * agent has said that it has no volume, and that none is moving away.
 */
#include "controller/cli/drain_plan.h"

#include <poll.h>
#include <string.h>

#include "controller/cli/print/progress.h"

#define AT_A_TIME 2

struct drain {
	struct cli *cli;
	struct drain_plan plan;
	size_t n_printed;
	struct progress_line line;
};

/* Printing the rows of the plan */

static bool stays(const struct drain_row *row)
{
	return row->fate == DRAIN_STAYS || row->fate == DRAIN_LOST;
}

static struct table table_of(struct arena *arena, const struct drain_plan *plan)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT}, {"to", CELL_TEXT}, {"state", CELL_TEXT}, {"why", CELL_TEXT}};
	struct cell(*cells)[COUNT(columns)] = arena_alloc(arena, (plan->n + 1) * sizeof(*cells));

	for (size_t i = 0; i < plan->n; i++) {
		const struct drain_row *row = &plan->rows[i];
		const struct cell line[] = {
			{.text = row->move.id},
			{.text = row->move.to},
			{.text = stays(row)                 ? "stays"
				 : row->fate == DRAIN_MOVED ? "moved"
							    : "moves"},
			{.text = stays(row) ? row->why : NULL},
		};
		memcpy(cells[i], line, sizeof(line));
	}
	return (struct table){"volumes", columns, COUNT(columns), *cells, plan->n, false};
}

/* Print a row, unless it was printed. With -o json nothing is printed before the end. */
static void print_row(struct drain *drain, struct drain_row *row)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const struct table table = table_of(&arena, &drain->plan);
	const struct style *style = &drain->cli->style;

	if (row->printed || style->json)
		return;
	row->printed = true;
	progress_line_clear(&drain->line);
	table_print_row(stdout, &table, style, (size_t)(row - drain->plan.rows),
			drain->n_printed++ == 0);
	fflush(stdout);
}

/* Print the remaining rows, those of volumes that stay last. Returns how many volumes stay. */
static size_t print_rest(struct drain *drain)
{
	struct drain_row *rows = drain->plan.rows;
	const struct table table = table_of(&drain->cli->arena, &drain->plan);
	size_t n = 0;

	for (size_t i = 0; i < drain->plan.n; i++)
		if (!stays(&rows[i]))
			print_row(drain, &rows[i]);
	for (size_t i = 0; i < drain->plan.n; i++) {
		if (!stays(&rows[i]))
			continue;
		print_row(drain, &rows[i]);
		n++;
	}
	if (drain->cli->style.json)
		table_print(stdout, &table, &drain->cli->style, NULL, 0);
	return n;
}

/* Beginning and watching the moves */

/* Mark all waiting rows as staying, since each call to the silent agent costs a --timeout. */
static void skip_waiting(struct drain *drain, const char *why)
{
	for (size_t i = 0; i < drain->plan.n; i++) {
		struct drain_row *row = &drain->plan.rows[i];
		if (row->fate != DRAIN_WAITS)
			continue;
		row->fate = DRAIN_STAYS;
		row->why = why;
	}
}

/* Returns true if the node's agent answers a short question. */
static bool answers(struct drain *drain)
{
	struct cli *cli = drain->cli;

	return fleet_ask_member(cli->fleet, &cli->arena, drain->plan.node, "GetHost",
				&new_get_host_request(&cli->arena)->base)
		.response;
}

static void begin(struct drain *drain, struct drain_row *row)
{
	struct error err;

	row->fate = DRAIN_MOVES;
	if (move_begin(drain->cli, &row->move, &err) == 0)
		return;
	row->why = arena_strdup(&drain->cli->arena, err.text);
	row->fate = DRAIN_STAYS;
	if (err.code != ERR_UNAVAILABLE && err.code != ERR_DEADLINE_EXCEEDED)
		return;
	row->fate = DRAIN_LOST;
	if (!answers(drain))
		skip_waiting(drain, row->why);
}

/*
 * Begin moves until AT_A_TIME run. A move is not counted if the node has given the volume up
 * already, because the other node does the rest. Returns true if a move is to be waited for.
 */
static bool begin_some(struct drain *drain)
{
	struct drain_row *rows = drain->plan.rows;
	size_t busy = 0, n = 0;

	for (size_t i = 0; i < drain->plan.n; i++) {
		n += rows[i].fate == DRAIN_MOVES;
		busy += rows[i].fate == DRAIN_MOVES && !rows[i].given_up;
	}
	for (size_t i = 0; i < drain->plan.n && busy < AT_A_TIME; i++) {
		if (rows[i].fate != DRAIN_WAITS)
			continue;
		begin(drain, &rows[i]);
		n += rows[i].fate == DRAIN_MOVES;
		busy += rows[i].fate == DRAIN_MOVES;
	}
	return n > 0;
}

/* Update the row of a move. Returns its progress, in the arena; NULL if it has ended. */
static const char *look(struct drain *drain, struct arena *arena, struct drain_row *row)
{
	const MoveState *state;
	struct error err;
	int done = move_look(drain->cli, arena, &row->move, &state, &err);

	if (done == 0) {
		const char *text = move_progress(arena, state);
		row->given_up = state->given_up;
		return arena_printf(arena, "%s to %s", row->move.id, *text ? text : row->move.to);
	}
	row->fate = done > 0                              ? DRAIN_MOVED
		    : err.code == ERR_FAILED_PRECONDITION ? DRAIN_STAYS
							  : DRAIN_LOST;
	if (done > 0)
		print_row(drain, row);
	else
		row->why = arena_strdup(&drain->cli->arena, err.text);
	return NULL;
}

static void look_at_all(struct drain *drain)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *all = NULL;

	for (size_t i = 0; i < drain->plan.n; i++) {
		if (drain->plan.rows[i].fate != DRAIN_MOVES)
			continue;
		const char *text = look(drain, &arena, &drain->plan.rows[i]);
		if (text)
			all = all ? arena_printf(&arena, "%s; %s", all, text) : text;
	}
	if (all && progress_line_due(&drain->line))
		progress_line_draw(&drain->line, all);
}

static void carry_out(struct drain *drain)
{
	look_at_all(drain);
	while (begin_some(drain)) {
		poll(NULL, 0, MOVE_LOOK_MS);
		look_at_all(drain);
	}
	progress_line_clear(&drain->line);
}

/* Finding the volumes that remain on the node */

static struct drain_row *find_row(const struct drain_plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->n; i++)
		if (strcmp(plan->rows[i].move.id, id) == 0)
			return &plan->rows[i];
	return NULL;
}

/* Make the row of a volume that the node still has. before: the volume's row until now, or NULL. */
static struct drain_row remaining(const struct drain_row *now, const struct drain_row *before)
{
	struct drain_row row = *now;

	row.fate = DRAIN_STAYS;
	if (before && stays(before))
		row.why = before->why;
	else if (!row.why)
		row.why = "it came to the node meanwhile";
	return row;
}

/*
 * Ask the agents once more which volumes the node has: these stay. A volume that it has no more was
 * moved if a move was begun, else its row is left out. Returns 0, or -1 with *err and the plan
 * unchanged if the agents do not answer.
 */
static int look_again(struct drain *drain, struct error *err)
{
	struct cli *cli = drain->cli;
	struct drain_plan *plan = &drain->plan, now;
	size_t n = 0;

	if (drain_plan_make(cli, cli->args[0], &now, err) < 0)
		return -1;
	struct drain_row *rows = arena_alloc(&cli->arena, (plan->n + now.n + 1) * sizeof(*rows));
	for (size_t i = 0; i < plan->n; i++) {
		const struct drain_row *row = &plan->rows[i];
		if ((row->fate != DRAIN_MOVED && row->fate != DRAIN_LOST) ||
		    find_row(&now, row->move.id))
			continue;
		rows[n] = *row;
		rows[n++].fate = DRAIN_MOVED;
	}
	for (size_t i = 0; i < now.n; i++)
		rows[n++] = remaining(&now.rows[i], find_row(plan, now.rows[i].move.id));
	*plan = (struct drain_plan){now.node, rows, n};
	return 0;
}

int cli_drain(struct cli *cli, struct error *err)
{
	struct drain drain = {.cli = cli};
	const char *node = cli->args[0];
	int failed = 0;

	if (drain_plan_make(cli, node, &drain.plan, err) < 0)
		return -1;
	if (!cli->dry_run) {
		carry_out(&drain);
		failed = look_again(&drain, err);
	}
	size_t n = print_rest(&drain);
	if (failed)
		return fail_context(err, "it is not known what is still on node '%s'", node);
	if (!n)
		return 0;
	return fail(err, ERR_FAILED_PRECONDITION,
		    "%zu of %zu volumes stay on node '%s': see why, and run 'zcsi drain %s' again",
		    n, drain.plan.n, node, node);
}
