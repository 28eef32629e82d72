/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi sync: the copies of a volume are brought up to date now.
 *
 * Invariant: it ends with 0 only after every copy has all that was written before it began.
 */
#include <poll.h>

#include "controller/cli/copies.h"
#include "controller/cli/dry_run.h"
#include "controller/cli/print/progress.h"

#define LOOK_MS 200 /* pause between two calls of ListPushes */

/*
 * Returns 1 if all copies are synced since a time, 0 if some are not yet, and -1 with *err if a
 * push failed since, or there are no copies. Copies of a deleted volume of that name, and copies on
 * nodes that were replaced, do not count.
 */
static int look(const ListPushesResponse *list, const char *id, int64_t since, struct error *err)
{
	size_t n = 0, done = 0;

	for (size_t i = 0; i < list->n_pushes; i++) {
		const PushState *push = list->pushes[i];
		if (push->deleted || push->owed)
			continue;
		if (push->paused)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "volume '%s' was paused meanwhile; run 'zcsi resume %s'", id,
				    id);
		if (push->failed >= since)
			return fail(err, ERR_UNAVAILABLE, "the copy on node '%s': %s",
				    push->node_id, push->error);
		n++;
		done += push->synced >= since;
	}
	if (n == 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' has no copies; add one with 'zcsi copy add %s NODE'", id,
			    id);
	return done == n;
}

/* Draw the progress of the pushes that sync waits for. */
static void draw(struct arena *arena, const ListPushesResponse *list, struct progress_line *line)
{
	const char *text = "";

	for (size_t i = 0; i < list->n_pushes; i++)
		if (list->pushes[i]->sending_ms)
			text = arena_printf(arena, "%s%s%s: %s", text, *text ? "; " : "",
					    list->pushes[i]->node_id,
					    copies_progress(arena, list->pushes[i]));
	if (*text || line->shown)
		progress_line_draw(line, text);
}

static int look_once(struct cli *cli, const struct member *owner, int64_t since,
		     struct progress_line *line, struct error *err)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	ListPushesRequest *request = new_list_pushes_request(&arena);

	request->id = arena_strdup(&arena, cli->args[0]);
	const struct reply reply =
		fleet_ask_member(cli->fleet, &arena, owner, "ListPushes", &request->base);
	*err = reply.error;
	if (!reply.response)
		return -1;
	if (progress_line_due(line))
		draw(&arena, reply.response, line);
	return look(reply.response, cli->args[0], since, err);
}

static int wait_until_synced(struct cli *cli, const struct member *owner, int64_t since,
			     struct error *err)
{
	struct progress_line line = {0};
	int done;

	while ((done = look_once(cli, owner, since, &line, err)) == 0)
		poll(NULL, 0, LOOK_MS);
	progress_line_end(&line, "");
	return done < 0 ? -1 : 0;
}

int cli_sync(struct cli *cli, struct error *err)
{
	PushRequest *request = new_push_request(&cli->arena);
	struct progress_line line = {0};
	const struct owned *volume;

	if (cli_volume(cli, cli->args[0], &volume, err) < 0)
		return -1;
	if (cli->dry_run && look_once(cli, volume->owner, INT64_MAX, &line, err) < 0)
		return -1;
	request->id = arena_strdup(&cli->arena, cli->args[0]);
	const struct change change = {
		volume->owner, "Push", &request->base,
		arena_printf(&cli->arena,
			     "send what was written to volume '%s' of node '%s' to all its copies",
			     volume->id, volume->owner->node)};
	PushResponse *response;
	int asked = dry_run_or_ask(cli, &change, &response, err);
	return asked > 0 ? wait_until_synced(cli, volume->owner, response->time, err) : asked;
}
