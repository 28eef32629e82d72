/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The sentences about a volume from its own node: its place, its use, its space, and its moves.
 *
 * Invariant: if the agent refuses all calls for a volume, a sentence says that something stops it,
 * even if the agent lists the volume.
 */
#include "controller/cli/why/why.h"

#include <inttypes.h>
#include <string.h>

#include "controller/cli/print/amount.h"
#include "controller/cli/print/progress.h"

#define LOW_PERCENT 5 /* a pool with less than this part of the volume's size left is reported */

/* Returns true if the parameters of a volume have a line that begins with a text. */
static bool has_parameter(const Dataset *volume, const char *text)
{
	const char *line = volume->parameters;

	while (line && *line) {
		if (strncmp(line, text, strlen(text)) == 0)
			return true;
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return false;
}

static bool by_nfs(const Dataset *volume)
{
	return has_parameter(volume, "attach=nfs");
}

static void say_place(struct why *why, const struct owned *owned)
{
	struct arena *arena = &why->cli->arena;
	const Dataset *volume = owned->entry;
	const char *size = volume->size ? arena_printf(arena, " of %s",
						       amount_bytes(arena, (uint64_t)volume->size))
					: "";

	why_say(why, WHY_FACT,
		arena_printf(arena, "it is on node '%s', as %s, with %s%s used; %s",
			     owned->owner->node, volume->name,
			     amount_bytes(arena, (uint64_t)volume->used), size,
			     by_nfs(volume) ? "jobs can use it on every node, by NFS"
					    : "jobs can use it on that node alone"));
	if (has_parameter(volume, "zfs.encryption="))
		why_say(why, WHY_FACT,
			"it is encrypted: each job that uses it gives its key, as the secret "
			"'encryption_key'; agents do not report whether the key is loaded");
	if (why->n_volumes > 1 && volume->maybe_blank)
		why_say(why, WHY_FACT,
			arena_printf(arena,
				     "the one on node '%s' was never used; if it is empty, it goes "
				     "to the trash with the next call for the volume",
				     owned->owner->node));
}

static void say_use(struct why *why, const Dataset *volume)
{
	struct cli *cli = why->cli;
	const char *users = NULL;

	for (size_t i = 0; i < volume->n_published; i++) {
		const char *node = volume->published[i]->node_id;
		users = arena_printf(&cli->arena, "%s%snode '%s'", users ? users : "",
				     users ? " and " : "", node);
		if (!fleet_node(cli->members, cli->n_members, node))
			why_mend(
				why, WHY_MAY_STOP,
				arena_printf(&cli->arena,
					     "node '%s', to which it is attached, does not answer; "
					     "it stays attached until that node is back or the "
					     "orchestrator gives it up; if no job uses it there",
					     node),
				arena_printf(&cli->arena, "zcsi unpublish %s %s", why->id, node));
	}
	why_say(why, WHY_FACT,
		users ? arena_printf(&cli->arena,
				     "it is in use, attached to %s; to move or delete it, stop the "
				     "job that uses it first",
				     users)
		      : "it is attached to no node");
}

static bool is_moving(const struct why *why)
{
	for (size_t i = 0; i < why->n_moves; i++)
		if (why->moves[i].state->running)
			return true;
	return false;
}

/* Add the error with which the agent refuses the volume, or the problem of its pool. */
static void say_refused(struct why *why, const struct owned *owned)
{
	struct arena *arena = &why->cli->arena;
	const struct member *owner = owned->owner;
	const struct reply *account = &why->accounts[owner->at];

	if (*owner->host->problem) {
		if (!why->no_nodes)
			why_say(why, WHY_STOPS,
				arena_printf(arena, "the pool of node '%s' cannot be used: %s",
					     owner->node, owner->host->problem));
	} else if (!account->response && !is_moving(why)) {
		const char *confirm = arena_printf(arena, "zcsi confirm %s", why->id);
		why_mend(why, WHY_STOPS,
			 arena_printf(arena, "node '%s' refuses calls for it: %s", owner->node,
				      account->error.text),
			 strstr(account->error.text, confirm) ? confirm : NULL);
	}
	if (by_nfs(owned->entry) && *owner->host->no_export)
		why_say(why, WHY_STOPS,
			arena_printf(arena, "node '%s' cannot export it by NFS: %s", owner->node,
				     owner->host->no_export));
}

/* Returns the command that makes a volume twice as large. */
static const char *growth(struct arena *arena, const Dataset *volume)
{
	static const char units[] = "\0KMGTP";
	int64_t size = 2 * volume->size;
	size_t unit = 0;

	for (; size % 1024 == 0 && units[unit + 1]; unit++)
		size /= 1024;
	return arena_printf(arena, "zcsi resize %s %" PRId64 "%.1s", volume->id, size,
			    &units[unit]);
}

static void say_space(struct why *why, const struct owned *owned)
{
	struct arena *arena = &why->cli->arena;
	const Dataset *volume = owned->entry;
	const GetHostResponse *host = owned->owner->host;
	const char *left = amount_bytes(arena, (uint64_t)host->available);

	if (cli_nearly_full(volume))
		why_mend(why, volume->used >= volume->size ? WHY_STOPS : WHY_MAY_STOP,
			 arena_printf(arena,
				      "it is %sfull: delete files or snapshots in it, or make it "
				      "larger",
				      volume->used >= volume->size ? "" : "nearly "),
			 host->available > volume->size ? growth(arena, volume) : NULL);
	/* The space is unknown while the pool is read for the first time. */
	if (*host->problem || !host->names || why->no_nodes)
		return;
	if (host->available <= 0)
		why_say(why, WHY_STOPS,
			arena_printf(arena,
				     "the pool of node '%s' is full; delete volumes or snapshots "
				     "there ('zcsi list', 'zcsi snapshots'), or empty the trash "
				     "('zcsi trash empty')",
				     host->node_id));
	else if (host->available < volume->size / 100 * LOW_PERCENT)
		why_say(why, WHY_MAY_STOP,
			arena_printf(arena, "the pool of node '%s' is nearly full: %s are left",
				     host->node_id, left));
}

static void say_troubles(struct why *why, const Dataset *volume)
{
	for (size_t i = 0; i < volume->n_troubles; i++)
		why_mend(why, WHY_MAY_STOP, volume->troubles[i]->text,
			 *volume->troubles[i]->remedy ? volume->troubles[i]->remedy : NULL);
}

void why_volume(struct why *why, const struct owned *volume)
{
	say_place(why, volume);
	say_use(why, volume->entry);
	say_refused(why, volume);
	say_space(why, volume);
	say_troubles(why, volume->entry);
}

/* Moves */

/* Returns true if the source of the move refuses calls for the volume already. */
static bool is_closed(const struct why *why, const struct move_seen *move)
{
	return move->state->given_up || (why->accounts && !why->accounts[move->from->at].response);
}

static void say_running(struct why *why, const struct move_seen *move)
{
	struct arena *arena = &why->cli->arena;
	const MoveState *state = move->state;
	const char *from = move->from->node, *to = state->node_id,
		   *colon = *state->error ? ": " : "";
	const char *far = move_progress(arena, state);

	if (state->given_up)
		why_say(why, WHY_STOPS,
			arena_printf(arena,
				     "node '%s' has given it up for node '%s', which has not taken "
				     "it yet%s%s; it does as soon as the two reach each other",
				     from, to, colon, state->error));
	else
		why_say(why, is_closed(why, move) ? WHY_STOPS : WHY_MAY_STOP,
			arena_printf(
				arena,
				"it is moving from node '%s' to node '%s'%s%s; for some "
				"seconds at the end calls for it are refused; 'zcsi move %s %s "
				"--cancel' ends that",
				from, to, *far ? ", " : "", far, why->id, to));
}

bool why_moves(struct why *why)
{
	struct arena *arena = &why->cli->arena;
	bool moves = false;

	for (size_t i = 0; i < why->n_moves; i++) {
		const MoveState *state = why->moves[i].state;
		if (state->running)
			say_running(why, &why->moves[i]);
		else if (*state->error)
			why_say(why, WHY_FACT,
				arena_printf(arena, "its last move, to node '%s', failed: %s",
					     state->node_id, state->error));
		moves |= state->running;
	}
	return moves;
}
