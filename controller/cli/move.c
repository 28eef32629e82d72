/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi move: another node becomes the owner of a volume. The agent of the owner carries the move
 * out; this command begins or cancels it, and watches.
 *
 * Invariant: the exit status is 0 only after the other node has the volume, or, with --cancel,
 * after the move has ended and the volume is where it was.
 */
#include "controller/cli/move.h"

#include <poll.h>
#include <string.h>

#include "controller/cli/dry_run.h"
#include "controller/cli/print/progress.h"

static const ProtobufCMessage *list_request(struct arena *arena, const char *id)
{
	ListMovesRequest *request = new_list_moves_request(arena);

	request->id = arena_strdup(arena, id);
	return &request->base;
}

static const struct reply *ask_all(struct cli *cli, const char *id)
{
	return fleet_ask(cli->fleet, &cli->arena, "ListMoves", list_request(&cli->arena, id));
}

/* Returns the moves in the answers of all agents. */
static const struct move_seen *moves_in(struct cli *cli, const struct reply *replies, size_t *ret_n)
{
	size_t most = 0;

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListMovesResponse *list = replies[i].response;
		most += list ? list->n_moves : 0;
	}
	struct move_seen *moves = arena_alloc(&cli->arena, (most + 1) * sizeof(*moves));
	*ret_n = 0;
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListMovesResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_moves; k++)
			moves[(*ret_n)++] = (struct move_seen){&cli->members[i], list->moves[k]};
	}
	return moves;
}

const struct move_seen *move_list(struct cli *cli, const char *id, size_t *ret_n)
{
	return moves_in(cli, ask_all(cli, id), ret_n);
}

const char *move_text(struct cli *cli, const MoveState *move)
{
	return arena_printf(&cli->arena, "moving to %s%s%s", move->node_id,
			    *move->error ? ": " : "", move->error);
}

const char *move_progress(struct arena *arena, const MoveState *move)
{
	const struct progress progress = {(uint64_t)move->sent, (uint64_t)move->total,
					  move->sending_ms};

	if (move->given_up)
		return arena_printf(arena, "waiting for node %s%s%s", move->node_id,
				    *move->error ? ": " : "", move->error);
	if (!move->sending_ms)
		return "";
	return arena_printf(arena, "%s: %s", move->node_id, progress_text(arena, &progress));
}

/* Reasons against a move */

static bool all_answer(const struct cli *cli)
{
	for (size_t i = 0; i < cli->n_members; i++)
		if (!cli->members[i].host)
			return false;
	return true;
}

const char *move_trouble(struct cli *cli, const PushState *push, const struct member *member)
{
	const char *node = push->node_id;

	if (!member)
		return arena_printf(&cli->arena,
				    all_answer(cli) ? "node '%s', which has a copy, is none of the "
						      "agents that were asked"
						    : "node '%s', which has a copy, does not "
						      "answer",
				    node);
	if (*member->host->problem)
		return arena_printf(&cli->arena,
				    "node '%s', which has a copy, cannot use its pool: %s", node,
				    member->host->problem);
	if (push->synced)
		return NULL;
	if (push->failed)
		return arena_printf(&cli->arena, "the copy on node '%s' is not complete: %s", node,
				    push->error);
	return arena_printf(&cli->arena,
			    "the copy on node '%s' is not complete yet; 'zcsi copies %s' shows how "
			    "far it is",
			    node, push->id);
}

const char *move_use(struct cli *cli, const struct owned *volume, const struct owned *duplicate)
{
	const char *users = NULL;

	if (duplicate)
		return arena_printf(&cli->arena,
				    "it exists on node '%s' too; rename one of the two with 'zfs "
				    "rename'",
				    duplicate->owner->node);
	for (const char *const *user = cli_users(cli, volume->entry); *user; user++)
		users = arena_printf(&cli->arena, "%s%snode '%s'", users ? users : "",
				     users ? ", " : "", *user);
	if (!users)
		return NULL;
	return arena_printf(&cli->arena,
			    "it is in use, attached to %s; stop the job that uses it first", users);
}

/* Beginning and watching a move */

int move_begin(struct cli *cli, const struct move_wait *move, struct error *err)
{
	StartMoveRequest *request = new_start_move_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, move->id);
	request->node_id = arena_strdup(&cli->arena, move->to);
	const struct change change = {move->from, "StartMove", &request->base,
				      arena_printf(&cli->arena,
						   "move volume '%s' from node '%s' to node '%s'",
						   move->id, move->from->node, move->to)};
	return dry_run_or_send(cli, &change, err);
}

int move_look(struct cli *cli, struct arena *arena, const struct move_wait *move,
	      const MoveState **ret, struct error *err)
{
	const struct reply reply = fleet_ask_member(cli->fleet, arena, move->from, "ListMoves",
						    list_request(arena, move->id));
	const ListMovesResponse *list = reply.response;

	*err = reply.error;
	if (!list)
		return fail_context(err,
				    "node '%s' did not report how far the move is; see 'zcsi list'",
				    move->from->node);
	if (list->n_moves != 1 || strcmp(list->moves[0]->node_id, move->to) != 0)
		return fail(err, ERR_ABORTED,
			    "node '%s' was started again meanwhile; run 'zcsi move %s %s' again",
			    move->from->node, move->id, move->to);
	const MoveState *state = *ret = list->moves[0];
	if (!state->running && *state->error)
		return fail(err, ERR_FAILED_PRECONDITION, "volume '%s' stays on node '%s': %s",
			    move->id, move->from->node, state->error);
	return !state->running;
}

/* The command zcsi move */

/* Ask once, and draw how far the move is. Returns as move_look does. */
static int look(struct cli *cli, const struct move_wait *move, struct progress_line *line,
		struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const MoveState *state;
	int done = move_look(cli, &arena, move, &state, err);

	if (done != 0 || !progress_line_due(line))
		return done;
	const char *text = move_progress(&arena, state);
	if (*text || line->shown)
		progress_line_draw(line, text);
	return 0;
}

static int watch(struct cli *cli, const struct move_wait *move, struct error *err)
{
	struct progress_line line = {0};
	int done;

	while ((done = look(cli, move, &line, err)) == 0)
		poll(NULL, 0, MOVE_LOOK_MS);
	progress_line_end(&line, "");
	return done < 0 ? -1 : 0;
}

/* Returns the move that runs among the answers of all agents, or NULL. */
static const struct move_seen *find_move(struct cli *cli, const struct reply *replies)
{
	size_t n;
	const struct move_seen *moves = moves_in(cli, replies, &n);

	for (size_t i = 0; i < n; i++)
		if (moves[i].state->running)
			return &moves[i];
	return NULL;
}

/* Check what the agent checks when a move begins, as far as agents report it. */
static int check(struct cli *cli, const struct move_wait *move, const struct owned *volume,
		 struct error *err)
{
	ListPushesRequest *request = new_list_pushes_request(&cli->arena);
	const char *why = move_use(cli, volume, NULL);
	const PushState *push = NULL;

	request->id = arena_strdup(&cli->arena, move->id);
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, move->from, "ListPushes", &request->base);
	const ListPushesResponse *list = reply.response;
	*err = reply.error;
	if (!list)
		return -1;
	for (size_t i = 0; i < list->n_pushes; i++)
		if (strcmp(list->pushes[i]->node_id, move->to) == 0 && !list->pushes[i]->deleted &&
		    !list->pushes[i]->owed)
			push = list->pushes[i];
	if (!why)
		why = !push ? arena_printf(&cli->arena,
					   "it has no copy there; run 'zcsi copy add %s %s' first",
					   move->id, move->to)
		      : push->paused
			      ? arena_printf(&cli->arena,
					     "it is paused; run 'zcsi resume %s' first", move->id)
			      : move_trouble(cli, push,
					     fleet_node(cli->members, cli->n_members, move->to));
	return !why ? 0
		    : fail(err, ERR_FAILED_PRECONDITION, "volume '%s' cannot move to node '%s': %s",
			   move->id, move->to, why);
}

/* Returns 0 if a move has begun, 1 if the volume is on the node already, or -1 with *err. */
static int start(struct cli *cli, struct move_wait *move, struct error *err)
{
	const struct owned *volume;

	if (cli_volume(cli, move->id, &volume, err) < 0)
		return -1;
	move->from = volume->owner;
	if (strcmp(volume->owner->node, move->to) == 0)
		return 1;
	if (cli->dry_run && check(cli, move, volume, err) < 0)
		return -1;
	return move_begin(cli, move, err);
}

/* Fail because no agent that answers is moving the volume. */
static int fail_not_moving(const struct cli *cli, const struct reply *replies, struct error *err)
{
	for (size_t i = 0; i < cli->n_members; i++)
		if (!replies[i].response && replies[i].error.code != ERR_UNIMPLEMENTED)
			return fail(err, ERR_UNAVAILABLE,
				    "no agent that answers is moving volume '%s', and '%s' does "
				    "not: %s",
				    cli->args[0], cli->members[i].node, replies[i].error.text);
	return fail(err, ERR_FAILED_PRECONDITION, "volume '%s' is not moving", cli->args[0]);
}

static int cancel(struct cli *cli, const struct member *from, struct error *err)
{
	CancelMoveRequest *request = new_cancel_move_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, cli->args[0]);
	const struct change change = {
		from, "CancelMove", &request->base,
		arena_printf(&cli->arena, "end the move of volume '%s' and leave it on node '%s'",
			     cli->args[0], from->node)};
	return dry_run_or_send(cli, &change, err);
}

int cli_move(struct cli *cli, struct error *err)
{
	struct move_wait move = {.id = cli->args[0], .to = cli->args[1]};
	const struct reply *replies = ask_all(cli, move.id);
	const struct move_seen *runs = find_move(cli, replies);

	if (runs && strcmp(runs->state->node_id, move.to) != 0)
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"volume '%s' is moving to node '%s' already; 'zcsi move %s %s --cancel' "
			"ends that",
			move.id, runs->state->node_id, move.id, runs->state->node_id);
	move.from = runs ? runs->from : NULL;
	if (cli->cancel)
		return runs ? cancel(cli, move.from, err) : fail_not_moving(cli, replies, err);
	if (runs && dry_run_says(cli, arena_printf(&cli->arena,
						   "wait until volume '%s' has moved to node '%s', "
						   "which has begun",
						   move.id, move.to)))
		return 0;
	int there = runs ? 0 : start(cli, &move, err);
	if (there > 0)
		dry_run_says(cli, arena_printf(&cli->arena,
					       "leave volume '%s' on node '%s', which has it",
					       move.id, move.to));
	if (there || cli->dry_run)
		return there < 0 ? -1 : 0;
	return watch(cli, &move, err);
}
