/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi move: another node becomes the owner of a volume. The owner carries it out; this command
 * begins or cancels it, and watches.
 *
 * Invariant: it ends with 0 only after the other node has the volume, or, with --cancel, after the
 * move has ended and the volume is where it was.
 */
#include "controller/cli/move.h"

#include <poll.h>
#include <string.h>

#include "controller/cli/print/progress.h"

#define LOOK_MS 200 /* between two questions */

static const ProtobufCMessage *list_request(struct arena *arena, const char *id)
{
	ListMovesRequest *request = new_list_moves_request(arena);

	request->id = arena_strdup(arena, id);
	return &request->base;
}

/* Returns the move of a list that has not ended, or NULL. */
static const MoveState *running(const ListMovesResponse *list)
{
	for (size_t i = 0; list && i < list->n_moves; i++)
		if (list->moves[i]->running)
			return list->moves[i];
	return NULL;
}

const MoveState *const *move_list(struct cli *cli, size_t *ret_n)
{
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListMoves", list_request(&cli->arena, ""));
	size_t most = 0;

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListMovesResponse *list = replies[i].response;
		most += list ? list->n_moves : 0;
	}
	const MoveState **moves = arena_alloc(&cli->arena, (most + 1) * sizeof(*moves));
	*ret_n = 0;
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListMovesResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_moves; k++)
			if (list->moves[k]->running)
				moves[(*ret_n)++] = list->moves[k];
	}
	return moves;
}

const char *move_text(struct cli *cli, const MoveState *move)
{
	return arena_printf(&cli->arena, "moving to %s%s%s", move->node_id,
			    *move->error ? ": " : "", move->error);
}

/* *ret is the agent from which the volume is moving away, and *ret_move the move; or NULL. */
static void find_move(struct cli *cli, const char *id, const struct member **ret,
		      const MoveState **ret_move)
{
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListMoves", list_request(&cli->arena, id));

	*ret = NULL;
	*ret_move = NULL;
	for (size_t i = 0; i < cli->n_members && !*ret; i++) {
		*ret_move = running(replies[i].response);
		if (*ret_move)
			*ret = &cli->members[i];
	}
}

static void draw(struct arena *arena, const MoveState *move, struct progress_line *line)
{
	const struct progress progress = {(uint64_t)move->sent, (uint64_t)move->total,
					  move->sending_ms};
	const char *text = "";

	if (move->given_up)
		text = arena_printf(arena, "waiting for node %s%s%s", move->node_id,
				    *move->error ? ": " : "", move->error);
	else if (move->sending_ms)
		text = arena_printf(arena, "%s: %s", move->node_id,
				    progress_text(arena, &progress));
	if (*text || line->shown)
		progress_line_draw(line, text);
}

/* Returns 1 if the move has ended well, 0 if it runs, or -1 with *err. */
static int look(struct cli *cli, const struct member *from, struct progress_line *line,
		struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	const char *id = cli->args[0], *to = cli->args[1];
	const struct reply reply =
		fleet_ask_member(cli->fleet, &arena, from, "ListMoves", list_request(&arena, id));
	const ListMovesResponse *list = reply.response;

	*err = reply.error;
	if (!list)
		return fail_context(err,
				    "node '%s' does not say how far the move is; see 'zcsi list'",
				    from->node);
	if (list->n_moves != 1 || strcmp(list->moves[0]->node_id, to) != 0)
		return fail(err, ERR_UNAVAILABLE,
			    "node '%s' was started again meanwhile; run 'zcsi move %s %s' again",
			    from->node, id, to);
	const MoveState *move = list->moves[0];
	if (progress_line_due(line))
		draw(&arena, move, line);
	if (!move->running && *move->error)
		return fail(err, ERR_FAILED_PRECONDITION, "volume '%s' stays on node '%s': %s", id,
			    from->node, move->error);
	return !move->running;
}

static int watch(struct cli *cli, const struct member *from, struct error *err)
{
	struct progress_line line = {0};
	int done;

	while ((done = look(cli, from, &line, err)) == 0)
		poll(NULL, 0, LOOK_MS);
	progress_line_end(&line, "");
	return done < 0 ? -1 : 0;
}

static int start(struct cli *cli, const struct member **ret, struct error *err)
{
	StartMoveRequest *request = new_start_move_request(&cli->arena);
	const struct owned *volume;

	if (cli_volume(cli, cli->args[0], &volume, err) < 0)
		return -1;
	*ret = volume->owner;
	if (strcmp(volume->owner->node, cli->args[1]) == 0)
		return 1;
	request->id = arena_strdup(&cli->arena, cli->args[0]);
	request->node_id = arena_strdup(&cli->arena, cli->args[1]);
	const struct reply reply = fleet_ask_member(cli->fleet, &cli->arena, volume->owner,
						    "StartMove", &request->base);
	*err = reply.error;
	return reply.response ? 0 : -1;
}

static int cancel(struct cli *cli, const struct member *from, struct error *err)
{
	CancelMoveRequest *request = new_cancel_move_request(&cli->arena);

	if (!from)
		return fail(err, ERR_FAILED_PRECONDITION, "volume '%s' is not moving",
			    cli->args[0]);
	request->id = arena_strdup(&cli->arena, cli->args[0]);
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, from, "CancelMove", &request->base);
	*err = reply.error;
	return reply.response ? 0 : -1;
}

int cli_move(struct cli *cli, struct error *err)
{
	const struct member *from;
	const MoveState *move;

	find_move(cli, cli->args[0], &from, &move);
	if (move && strcmp(move->node_id, cli->args[1]) != 0)
		return fail(
			err, ERR_FAILED_PRECONDITION,
			"volume '%s' is moving to node '%s' already; 'zcsi move %s %s --cancel' "
			"ends that",
			cli->args[0], move->node_id, cli->args[0], move->node_id);
	if (cli->cancel)
		return cancel(cli, from, err);
	int there = from ? 0 : start(cli, &from, err);
	if (there)
		return there < 0 ? -1 : 0;
	return watch(cli, from, err);
}
