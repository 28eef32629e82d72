/* SPDX-License-Identifier: MPL-2.0 */
/*
 * zcsi copies: the copies of volumes on other nodes, as the nodes that push them report them.
 *
 * Invariant: a copy that no node pushes or drops is printed too.
 */
#include "controller/cli/copies.h"

#include <string.h>

#include "controller/cli/print/progress.h"

#define USEC       1000000
#define COPIES_MAX 16 /* limits the copies of a volume in one list; a NULL ends it */

static bool exact(const struct cli *cli)
{
	return cli->style.exact || cli->style.json;
}

char *copies_progress(struct arena *arena, const PushState *push)
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
	return arena_printf(&cli->arena, "%s: %s", state, copies_progress(&cli->arena, push));
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

/* The table of copies, while its rows are added. */
struct rows {
	const char *node; /* only copies on this node; NULL: on all nodes */
	size_t n_columns;
	struct cell *at;
};

static void add_row(struct rows *rows, const struct cell *row)
{
	memcpy(rows->at, row, rows->n_columns * sizeof(*row));
	rows->at += rows->n_columns;
}

static void add_rows(struct cli *cli, const ListPushesResponse *list, const struct member *owner,
		     struct rows *rows)
{
	for (size_t i = 0; i < list->n_pushes; i++) {
		const PushState *push = list->pushes[i];
		bool bad;
		if (rows->node && strcmp(push->node_id, rows->node) != 0)
			continue;
		const char *state = state_of(cli, push, list->time, &bad);
		const struct cell row[] = {
			{.text = push->id},
			{.text = owner->node},
			{.text = push->node_id},
			{.number = push->synced ? push->synced / USEC : -1},
			{.number = push->synced ? (list->time - push->synced) / USEC : -1},
			{.number = push->unsent_known ? push->unsent : -1},
			{.text = state},
			{.number = push->sending_ms ? push->sent : -1},
			{.number = push->sending_ms ? push->total : -1},
		};
		add_row(rows, row);
		cli->degraded |= bad;
	}
}

/*
 * Returns true if the agent did not answer. An error that it lacks or refuses the call is an
 * answer.
 */
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

int copies_check_node(const struct cli *cli, const struct owned *volume, const char *node,
		      struct error *err)
{
	const struct member *member = fleet_node(cli->members, cli->n_members, node);
	const struct member *const both[] = {volume->owner, member};

	if (!member)
		return fail(err, ERR_UNAVAILABLE,
			    "no agent that answers is that of node '%s', which must answer", node);
	if (member == volume->owner)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "node '%s' has volume '%s' itself: name another node", node,
			    volume->id);
	for (size_t i = 0; i < COUNT(both); i++)
		if (*both[i]->host->no_copies)
			return fail(err, ERR_FAILED_PRECONDITION, "node '%s': %s", both[i]->node,
				    both[i]->host->no_copies);
	return 0;
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
		       struct rows *rows)
{
	int64_t synced = held->copy->n_snapshots ? held->copy->snapshots[0]->creation : -1;
	const struct cell row[] = {
		{.text = held->id},
		{.text = NULL},
		{.text = member->node},
		{.number = synced},
		{.number = -1},
		{.number = -1},
		{.text = "no node that answers has a volume with this copy: see 'zcsi why'"},
		{.number = -1},
		{.number = -1},
	};

	add_row(rows, row);
	cli->degraded = true;
}

/*
 * Add the copies that no owner pushes or drops. An agent that permits ListCopies to other callers
 * only is left out.
 */
static void add_orphans(struct cli *cli, const char *id, const struct reply *pushes,
			const struct reply *copies, struct rows *rows)
{
	size_t n;
	const struct owned *volumes = cli_volumes(cli, id, &n);

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListCopiesResponse *list = copies[i].response;
		for (size_t k = 0; list && k < list->n_copies; k++)
			if (!has_owner(cli, pushes, volumes, n, &cli->members[i], list->copies[k]))
				add_orphan(cli, &cli->members[i], list->copies[k], rows);
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

void copies_print(struct cli *cli, const char *id, const char *node)
{
	static const struct column columns[] = {
		{"volume", CELL_TEXT},   {"node", CELL_TEXT},    {"copy", CELL_TEXT},
		{"synced", CELL_MOMENT}, {"behind", CELL_COUNT}, {"unsent", CELL_BYTES},
		{"state", CELL_TEXT},    {"sent", CELL_BYTES},   {"total", CELL_BYTES},
	};
	/* Without -p the values of the last two columns are part of the state. */
	struct rows rows = {node, exact(cli) ? COUNT(columns) : COUNT(columns) - 2, NULL};
	/*
	 * The copies are listed before the pushes: a copy that is dropped in between has no push.
	 */
	const struct reply *held = ask_held(cli, id ? id : "");
	const struct reply *pushes = copies_ask(cli, id ? id : "");
	size_t most = count(cli, pushes, held) + 1;
	struct cell *cells = arena_alloc(&cli->arena, most * COUNT(columns) * sizeof(*cells));

	rows.at = cells;
	for (size_t i = 0; i < cli->n_members; i++)
		if (pushes[i].response)
			add_rows(cli, pushes[i].response, &cli->members[i], &rows);
	if (!node)
		add_orphans(cli, id, pushes, held, &rows);
	size_t n = (size_t)(rows.at - cells) / rows.n_columns;
	cli_print(cli, &(struct table){"copies", columns, rows.n_columns, cells, n, false});
}

int cli_copies(struct cli *cli, struct error *err)
{
	(void)err;
	copies_print(cli, cli->n_args ? cli->args[0] : NULL, NULL);
	return 0;
}
