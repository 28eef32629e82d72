/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The plan of a drain: for each volume of a node, the node that it moves to, or why it stays.
 *
 * Invariant: the plan changes nothing. It follows from what agents report, and the agent of the
 * node checks each move again when it begins.
 */
#include "controller/cli/drain_plan.h"

#include <string.h>

#include "proto/copy.h"

#define USEC 1000000

/* Choosing the node that a volume moves to */

struct choice {
	const char *node; /* NULL: none yet */
	int64_t behind;   /* how far the copy on the node is behind, in seconds */
	int64_t available;
};

static bool is_better(const struct choice *one, const struct choice *other)
{
	if (!other->node)
		return true;
	if (one->behind != other->behind)
		return one->behind < other->behind;
	return one->available > other->available;
}

/*
 * Choose the node that a volume moves to: of those with a complete copy the one that is the fewest
 * seconds behind, and of these the one with the most space. Returns NULL if there is none. *ret_why
 * is what each of the other copies lacks, and what to do.
 */
static const char *choose(struct cli *cli, const ListPushesResponse *pushes, const char *id,
			  const char **ret_why)
{
	struct choice best = {0};
	const char *why = NULL;

	for (size_t i = 0; i < pushes->n_pushes; i++) {
		const PushState *push = pushes->pushes[i];
		if (push->deleted || push->owed || strcmp(push->id, id) != 0)
			continue;
		if (push->paused) {
			*ret_why = arena_printf(&cli->arena,
						"it is paused; run 'zcsi resume %s' first", id);
			return NULL;
		}
		const struct member *member =
			fleet_node(cli->members, cli->n_members, push->node_id);
		const char *trouble = move_trouble(cli, push, member);
		if (trouble) {
			why = why ? arena_printf(&cli->arena, "%s; %s", why, trouble) : trouble;
			continue;
		}
		const struct choice choice = {push->node_id, (pushes->time - push->synced) / USEC,
					      member->host->available};
		if (is_better(&choice, &best))
			best = choice;
	}
	*ret_why = why ? why
		       : arena_printf(&cli->arena,
				      "it has no copy; run 'zcsi copy add %s NODE' and 'zcsi sync "
				      "%s' first",
				      id, id);
	return best.node;
}

/* Listing the volumes of the node that is drained */

static int find_node(const struct cli *cli, const char *node, const struct member **ret,
		     struct error *err)
{
	const struct member *silent = NULL;

	*ret = fleet_node(cli->members, cli->n_members, node);
	if (*ret)
		return 0;
	for (size_t i = 0; i < cli->n_members; i++)
		if (!cli->members[i].host)
			silent = &cli->members[i];
	if (!silent)
		return fail(err, ERR_NOT_FOUND,
			    "no agent is that of node '%s'; 'zcsi nodes' prints those that are",
			    node);
	return fail(err, ERR_UNAVAILABLE,
		    "no agent that answers is that of node '%s', and '%s' does not answer: %s",
		    node, silent->node, silent->error.text);
}

static struct drain_row *add_row(struct drain_plan *plan, const char *id)
{
	struct drain_row *row = &plan->rows[plan->n++];

	*row = (struct drain_row){.move = {.from = plan->node, .id = id}};
	return row;
}

static void add_volume(struct cli *cli, struct drain_plan *plan, const char *id, const char *use,
		       const ListPushesResponse *pushes)
{
	struct drain_row *row = add_row(plan, id);
	const char *lack;

	row->move.to = choose(cli, pushes, id, &lack);
	if (row->move.to)
		lack = NULL;
	row->why = use && lack ? arena_printf(&cli->arena, "%s; and %s", use, lack)
		   : use       ? use
			       : lack;
	row->fate = row->why ? DRAIN_STAYS : DRAIN_WAITS;
}

/* Add a running move. If its volume was given up, no agent lists it, and it gets a new row. */
static void add_move(struct cli *cli, struct drain_plan *plan, const MoveState *state)
{
	struct drain_row *row = NULL;

	for (size_t i = 0; i < plan->n && !row; i++)
		if (strcmp(plan->rows[i].move.id, state->id) == 0)
			row = &plan->rows[i];
	if (!row)
		row = add_row(plan, state->id);
	row->move.to = state->node_id;
	row->fate = DRAIN_MOVES;
	row->given_up = state->given_up;
	row->why = move_text(cli, state);
}

int drain_plan_make(struct cli *cli, const char *node, struct drain_plan *ret, struct error *err)
{
	struct arena *arena = &cli->arena;
	size_t n;

	*ret = (struct drain_plan){0};
	if (find_node(cli, node, &ret->node, err) < 0)
		return -1;
	/* Volumes are listed before moves, so one that is given up meanwhile is in both lists. */
	const struct owned *volumes = cli_volumes(cli, NULL, &n);
	const struct reply moving = fleet_ask_member(cli->fleet, arena, ret->node, "ListMoves",
						     &new_list_moves_request(arena)->base);
	const struct reply pushed = fleet_ask_member(cli->fleet, arena, ret->node, "ListPushes",
						     &new_list_pushes_request(arena)->base);
	const ListMovesResponse *moves = moving.response;
	const ListPushesResponse *pushes = pushed.response;
	*err = !moves ? moving.error : !pushes ? pushed.error : ret->node->error;
	if (!moves || !pushes || err->code != ERR_OK)
		return fail_context(err, "node '%s' does not list its volumes and their copies",
				    node);
	ret->rows = arena_alloc(arena, (n + moves->n_moves + 1) * sizeof(*ret->rows));
	for (size_t i = 0; i < n; i++)
		if (volumes[i].owner == ret->node)
			add_volume(cli, ret, volumes[i].id,
				   move_use(cli, &volumes[i], cli_duplicate(volumes, n, i)),
				   pushes);
	for (size_t i = 0; i < moves->n_moves; i++)
		if (moves->moves[i]->running)
			add_move(cli, ret, moves->moves[i]);
	return 0;
}
