/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_MOVE_H
#define ZCSI_CLI_MOVE_H

/* The moves of volumes, as the agents report them, and waiting for them. */

#include "controller/cli/cli.h"
#include "proto/copy.h"

struct move_seen {
	const struct member *from; /* the agent that gives the volume away */
	const MoveState *state;
};

/*
 * Returns the moves of a volume, or of all if id is "", that run or have ended since the zcsi-node
 * was started, in the order of the members.
 */
const struct move_seen *move_list(struct cli *cli, const char *id, size_t *ret_n);
/* Returns "moving to n2", and what keeps the move from ending. */
const char *move_text(struct cli *cli, const MoveState *move);
/* Returns how far a move is, "" if that is not known, in the arena. */
const char *move_progress(struct arena *arena, const MoveState *move);

/* A move to wait for. */
struct move_wait {
	const struct member *from;
	const char *id, *to; /* the volume; the node that is to have it */
};

#define MOVE_LOOK_MS 200 /* pause between two calls of move_look */

/*
 * Returns why a volume stays where it is, whatever copies it has; or NULL. duplicate: the volume of
 * the same name on another agent, or NULL.
 */
const char *move_use(struct cli *cli, const struct owned *volume, const struct owned *duplicate);
/* Returns why the volume cannot move to a copy, or NULL. member: the copy's agent, or NULL. */
const char *move_trouble(struct cli *cli, const PushState *push, const struct member *member);
/*
 * Begin a move, unless it runs already. Returns 0, or -1 with *err, which says why the volume
 * cannot move now.
 */
int move_begin(struct cli *cli, const struct move_wait *move, struct error *err);
/*
 * Ask how far a move is. Returns 1 if it has ended well, or 0 if it runs, with *ret set, in the
 * arena. Returns -1 with *err: FAILED_PRECONDITION if the volume stays; ABORTED if the outcome is
 * not known, because zcsi-node was started again; others if the agent does not answer.
 */
int move_look(struct cli *cli, struct arena *arena, const struct move_wait *move,
	      const MoveState **ret, struct error *err);

#endif
