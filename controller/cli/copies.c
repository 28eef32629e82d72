/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi copies, copy, sync, pause and resume: the copies of volumes on other nodes. The owner of a
 * volume pushes them; these commands ask the owner.
 *
 * Invariant: `sync` ends with 0 only after every copy has all that was written before it began.
 */
#include "controller/cli/copies.h"

#include <poll.h>
#include <string.h>

#include "controller/cli/print/progress.h"

#define LOOK_MS    200 /* pause between two calls of ListPushes while sync waits */
#define USEC       1000000
#define COPIES_MAX 16 /* most copies of a volume that are printed */

/* *ret is the agent that has the volume itself. */
static int find_owner(struct cli *cli, const char *id, const struct member **ret, struct error *err)
{
	const struct owned *volume;

	if (cli_volume(cli, id, &volume, err) < 0)
		return -1;
	*ret = volume->owner;
	return 0;
}

static bool exact(const struct cli *cli)
{
	return cli->style.exact || cli->style.json;
}

/* Returns the progress of a running push in words, in the arena. */
static char *progress_of(struct arena *arena, const PushState *push)
{
	const struct progress progress = {(uint64_t)push->sent, (uint64_t)push->total,
					  push->sending_ms};

	return progress_text(arena, &progress);
}

/* Returns "sending", with the progress unless that is in columns of its own. */
static const char *sending(struct cli *cli, const PushState *push)
{
	const char *state = push->synced ? "sending" : "sending all data";

	if (!push->sending_ms || exact(cli))
		return state;
	return arena_printf(&cli->arena, "%s: %s", state, progress_of(&cli->arena, push));
}

bool copies_late(const PushState *push, int64_t now)
{
	return push->synced && now - push->synced > 3 * push->every * USEC;
}

static const char *owed(struct cli *cli, const PushState *push)
{
	static const char text[] = "replaced, dropped when it answers";

	return push->failed && !exact(cli) ? arena_printf(&cli->arena, "%s: %s", text, push->error)
					   : text;
}

/* Returns the state of a copy in a few words, and in *ret_bad whether an operator has to act. */
static const char *state_of(struct cli *cli, const PushState *push, int64_t now, bool *ret_bad)
{
	*ret_bad = false;
	if (push->owed)
		return owed(cli, push);
	*ret_bad = push->failed || push->paused || copies_late(push, now);
	if (push->failed)
		return push->error;
	if (push->deleted)
		return "being dropped";
	if (push->paused)
		return "paused";
	if (push->running)
		return sending(cli, push);
	if (!push->synced)
		return "waiting";
	return *ret_bad ? arena_printf(&cli->arena, "behind by more than %lld s", 3LL * push->every)
			: "ok";
}

static void add_rows(struct cli *cli, const ListPushesResponse *list, const struct member *owner,
		     size_t n_columns, struct cell **at)
{
	for (size_t i = 0; i < list->n_pushes; i++) {
		const PushState *push = list->pushes[i];
		bool bad;
		const char *state = state_of(cli, push, list->time, &bad);
		const struct cell row[] = {
			{.text = push->id},
			{.text = owner->node},
			{.text = push->node_id},
			{.number = push->synced ? push->synced / USEC : -1},
			{.number = push->synced ? (list->time - push->synced) / USEC : -1},
			{.text = state},
			{.number = push->sending_ms ? push->sent : -1},
			{.number = push->sending_ms ? push->total : -1},
		};
		memcpy(*at, row, n_columns * sizeof(*row));
		*at += n_columns;
		cli->degraded |= bad;
	}
}

/* Returns false if the agent answered: its version is an earlier one, or it refuses the call. */
static bool is_silence(const struct reply *reply)
{
	return !reply->response && reply->error.code != ERR_PERMISSION_DENIED &&
	       reply->error.code != ERR_UNIMPLEMENTED;
}

const struct reply *copies_ask(struct cli *cli, const char *id)
{
	ListPushesRequest *request = new_list_pushes_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, id);
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "ListPushes", &request->base);
	for (size_t i = 0; i < cli->n_members; i++)
		if (is_silence(&replies[i]) && cli->members[i].host)
			cli->members[i].error = replies[i].error;
	return replies;
}

static void add_copy(struct cli *cli, const PushState *push, int64_t now, const char ***words,
		     const char **trouble)
{
	bool bad;
	const char *state = state_of(cli, push, now, &bad);

	*(*words)++ = push->synced ? arena_printf(&cli->arena, "%s (%llds)", push->node_id,
						  (long long)(now - push->synced) / USEC)
				   : push->node_id;
	if (bad)
		*trouble = arena_printf(&cli->arena, "copy on %s: %s", push->node_id, state);
}

const char *const *copies_of(struct cli *cli, const struct reply *pushes, const char *id,
			     const char **ret_trouble)
{
	const char **words = arena_alloc(&cli->arena, COPIES_MAX * sizeof(*words)), **at = words;

	*ret_trouble = NULL;
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListPushesResponse *list = pushes[i].response;
		for (size_t k = 0; list && k < list->n_pushes; k++)
			if (!list->pushes[k]->owed && strcmp(list->pushes[k]->id, id) == 0 &&
			    at < words + COPIES_MAX - 1)
				add_copy(cli, list->pushes[k], list->time, &at, ret_trouble);
	}
	return words;
}

/* Returns true if a node that answers has the volume of the copy, or is to drop the copy. */
static bool has_owner(struct cli *cli, const struct reply *pushes, const struct owned *volumes,
		      size_t n_volumes, const struct member *member, const HeldCopy *held)
{
	for (size_t i = 0; i < n_volumes; i++) {
		const Dataset *volume = volumes[i].entry;
		if (strcmp(volume->id, held->id) == 0 &&
		    strcmp(volume->lineage, held->copy->lineage) == 0)
			return true;
	}
	for (size_t i = 0; i < cli->n_members; i++) {
		const ListPushesResponse *list = pushes[i].response;
		for (size_t k = 0; list && k < list->n_pushes; k++)
			if (strcmp(list->pushes[k]->id, held->id) == 0 &&
			    strcmp(list->pushes[k]->node_id, member->node) == 0)
				return true;
	}
	return false;
}

static void add_orphan(struct cli *cli, const struct member *member, const HeldCopy *held,
		       size_t n_columns, struct cell **at)
{
	int64_t synced = held->copy->n_snapshots ? held->copy->snapshots[0]->creation : -1;
	const struct cell row[] = {
		{.text = held->id},
		{.text = NULL},
		{.text = member->node},
		{.number = synced},
		{.number = -1},
		{.text = "no node that answers has a volume with this copy: see 'zcsi why'"},
		{.number = -1},
		{.number = -1},
	};

	memcpy(*at, row, n_columns * sizeof(*row));
	*at += n_columns;
	cli->degraded = true;
}

/* Add the copies that no owner pushes or drops. An agent may permit ListCopies to others only. */
static void add_orphans(struct cli *cli, const struct reply *pushes, const struct reply *copies,
			size_t n_columns, struct cell **at)
{
	size_t n;
	const struct owned *volumes = cli_volumes(cli, cli->n_args ? cli->args[0] : NULL, &n);

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListCopiesResponse *list = copies[i].response;
		for (size_t k = 0; list && k < list->n_copies; k++)
			if (!has_owner(cli, pushes, volumes, n, &cli->members[i], list->copies[k]))
				add_orphan(cli, &cli->members[i], list->copies[k], n_columns, at);
	}
}

static const struct reply *ask_held(struct cli *cli, const char *id)
{
	ListCopiesRequest *request = new_list_copies_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, id);
	return fleet_ask(cli->fleet, &cli->arena, "ListCopies", &request->base);
}

/* Returns how many rows there are at most. */
static size_t count(const struct cli *cli, const struct reply *pushes, const struct reply *copies)
{
	size_t n = 0;

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListPushesResponse *pushed = pushes[i].response;
		const ListCopiesResponse *held = copies[i].response;
		n += (pushed ? pushed->n_pushes : 0) + (held ? held->n_copies : 0);
	}
	return n;
}

int cli_copies(struct cli *cli, struct error *err)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT},   {"node", CELL_TEXT},    {"copy", CELL_TEXT},
		{"synced", CELL_MOMENT}, {"behind", CELL_COUNT}, {"state", CELL_TEXT},
		{"sent", CELL_BYTES},    {"total", CELL_BYTES},
	};
	/* Without -p the values of the last two columns are part of the state. */
	size_t n_columns = exact(cli) ? COUNT(columns) : COUNT(columns) - 2;
	const char *id = cli->n_args ? cli->args[0] : "";
	/* The copies first: one that is dropped meanwhile has no owner afterwards. */
	const struct reply *held = ask_held(cli, id), *replies = copies_ask(cli, id);
	size_t most = count(cli, replies, held) + 1;
	struct cell *cells = arena_alloc(&cli->arena, most * COUNT(columns) * sizeof(*cells));
	struct cell *at = cells;

	(void)err;
	for (size_t i = 0; i < cli->n_members; i++)
		if (replies[i].response)
			add_rows(cli, replies[i].response, &cli->members[i], n_columns, &at);
	add_orphans(cli, replies, held, n_columns, &at);
	size_t n = (size_t)(at - cells) / n_columns;
	cli_print(cli, &(struct table){"copies", columns, n_columns, cells, n, false});
	return 0;
}

int cli_copy(struct cli *cli, struct error *err)
{
	const char *verb = cli->args[0], *id = cli->args[1], *node = cli->args[2];
	AddMemberRequest *added = new_add_member_request(&cli->arena);
	RemoveMemberRequest *removed = new_remove_member_request(&cli->arena);
	const struct member *owner;
	bool adds = strcmp(verb, "add") == 0;

	if (!adds && strcmp(verb, "drop") != 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "'%s' is neither add nor drop: write zcsi copy add VOLUME NODE", verb);
	if (find_owner(cli, id, &owner, err) < 0)
		return -1;
	added->id = removed->id = arena_strdup(&cli->arena, id);
	removed->gone = cli->gone;
	added->node_id = removed->node_id = arena_strdup(&cli->arena, node);
	const struct reply reply =
		adds ? fleet_ask_member(cli->fleet, &cli->arena, owner, "AddMember", &added->base)
		     : fleet_ask_member(cli->fleet, &cli->arena, owner, "RemoveMember",
					&removed->base);
	*err = reply.error;
	return reply.response ? 0 : -1;
}

/*
 * Returns 1 if all copies are synced since a time, 0 if some are not yet, and -1 with *err if a
 * push failed since, or there are no copies. Those of a deleted volume of that name, and of nodes
 * that were replaced, do not count.
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
					    progress_of(arena, list->pushes[i]));
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
	const struct member *owner;

	if (find_owner(cli, cli->args[0], &owner, err) < 0)
		return -1;
	request->id = arena_strdup(&cli->arena, cli->args[0]);
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, owner, "Push", &request->base);
	const PushResponse *response = reply.response;
	*err = reply.error;
	return response ? wait_until_synced(cli, owner, response->time, err) : -1;
}

/* Call a method of the agent that has the volume; args[0] is its id, and the response is empty. */
static int ask_owner(struct cli *cli, const char *method, const ProtobufCMessage *request,
		     struct error *err)
{
	const struct member *owner;

	if (find_owner(cli, cli->args[0], &owner, err) < 0)
		return -1;
	const struct reply reply =
		fleet_ask_member(cli->fleet, &cli->arena, owner, method, request);
	*err = reply.error;
	return reply.response ? 0 : -1;
}

int cli_pause(struct cli *cli, struct error *err)
{
	PauseRequest *request = new_pause_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, cli->args[0]);
	return ask_owner(cli, "Pause", &request->base, err);
}

int cli_resume(struct cli *cli, struct error *err)
{
	ResumeRequest *request = new_resume_request(&cli->arena);

	request->id = arena_strdup(&cli->arena, cli->args[0]);
	return ask_owner(cli, "Resume", &request->base, err);
}
