/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The sentences about the copies of a volume. They come from its owner; no other node is asked.
 *
 * Invariant: a copy that gets nothing, or not enough, may stop the volume, since it can then
 * neither move nor fail over without loss.
 */
#include "controller/cli/copies.h"

#include "controller/cli/print/amount.h"
#include "controller/cli/print/progress.h"
#include "controller/cli/why/why.h"

#define USEC 1000000

/* Returns "the copy on node 'n2' is complete, and 12 s behind". */
static const char *copy_state(struct arena *arena, const PushState *push, int64_t now)
{
	if (push->synced)
		return arena_printf(arena, "the copy on node '%s' is complete, and %s behind",
				    push->node_id, amount_time(arena, (now - push->synced) / USEC));
	return arena_printf(arena, "the copy on node '%s' is not known to be complete",
			    push->node_id);
}

static const char *progress_of(struct arena *arena, const PushState *push)
{
	const struct progress progress = {(uint64_t)push->sent, (uint64_t)push->total,
					  push->sending_ms};

	if (!push->running)
		return "; it waits for its turn";
	if (!push->sending_ms)
		return "; a push runs";
	return arena_printf(arena, "; a push runs: %s", progress_text(arena, &progress));
}

static void say_copy(struct why *why, const PushState *push, int64_t now)
{
	struct arena *arena = &why->cli->arena;
	const char *text = copy_state(arena, push, now);

	if (push->deleted)
		why_say(why, WHY_FACT,
			arena_printf(arena,
				     "the copy on node '%s' is of a volume of this name that was "
				     "deleted, and is being dropped%s%s",
				     push->node_id, push->failed ? ": " : "",
				     push->failed ? push->error : ""));
	else if (push->owed)
		why_say(why, WHY_FACT,
			arena_printf(arena,
				     "node '%s' did not answer and has been replaced; its old copy "
				     "is dropped when it answers%s%s",
				     push->node_id, push->failed ? ": " : "",
				     push->failed ? push->error : ""));
	else if (push->paused)
		why_mend(why, WHY_MAY_STOP,
			 arena_printf(arena, "%s; it is paused and gets nothing", text),
			 arena_printf(arena, "zcsi resume %s", why->id));
	else if (push->failed)
		why_mend(why, WHY_MAY_STOP,
			 arena_printf(arena, "%s; the last push failed at %s: %s; mend that first",
				      text, amount_moment(arena, push->failed / USEC), push->error),
			 arena_printf(arena, "zcsi sync %s", why->id));
	else if (copies_late(push, now))
		why_mend(why, WHY_MAY_STOP,
			 arena_printf(arena, "%s, where %s are allowed%s", text,
				      amount_time(arena, push->every), progress_of(arena, push)),
			 arena_printf(arena, "zcsi sync %s", why->id));
	else
		why_say(why, WHY_FACT,
			arena_printf(arena, "%s%s", text,
				     push->synced ? "" : progress_of(arena, push)));
}

/* Add a sentence if the node of a copy does not answer or cannot keep it. */
static void say_node(struct why *why, const PushState *push)
{
	struct cli *cli = why->cli;
	const struct member *member = fleet_node(cli->members, cli->n_members, push->node_id);
	const char *trouble =
		member ? member->host->problem
		       : "it does not answer, or is none of the agents that were asked";

	if (*trouble && !why->no_nodes)
		why_say(why, WHY_MAY_STOP,
			arena_printf(&cli->arena, "node '%s', which has a copy: %s", push->node_id,
				     trouble));
}

void why_copies(struct why *why, const struct owned *volume)
{
	struct arena *arena = &why->cli->arena;
	const struct reply *reply = &why->pushes[volume->owner->at];
	const ListPushesResponse *list = reply->response;
	size_t n = 0;

	if (!list) {
		why_say(why, WHY_FACT,
			arena_printf(arena, "its copies and moves are not known: %s",
				     reply->error.text));
		return;
	}
	for (size_t i = 0; i < list->n_pushes; i++) {
		const PushState *push = list->pushes[i];
		say_copy(why, push, list->time);
		if (push->deleted || push->owed)
			continue;
		say_node(why, push);
		n++;
	}
	if (!n)
		why_say(why, WHY_FACT,
			arena_printf(
				arena,
				"it has no copy, so its data is on node '%s' alone; 'zcsi copy "
				"add %s NODE' makes one",
				volume->owner->node, why->id));
}
