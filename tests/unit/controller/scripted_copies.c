/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The part of scripted_agents.c for copies and moves. A move ends after it was listed often enough
 * (move_looks); then the agent of its target node has the volume.
 */
#include "tests/unit/controller/scripted_methods.h"

#include "common/clock.h"

#define USEC 1000000

PushState *add_push(struct client *client, const char *id, const char *node, int64_t behind)
{
	PushState *push = new_push_state(&call.arena);

	assert_true(client->n_pushes < SCRIPTED_COPIES);
	push->id = arena_strdup(&call.arena, id);
	push->node_id = arena_strdup(&call.arena, node);
	push->every = 300;
	push->synced = behind < 0 ? 0 : wall_us() - behind * USEC;
	client->pushes[client->n_pushes++] = push;
	return push;
}

MoveState *add_move(struct client *client, const char *id, const char *node)
{
	MoveState *move = new_move_state(&call.arena);

	assert_true(client->n_moves < SCRIPTED_COPIES);
	move->id = arena_strdup(&call.arena, id);
	move->node_id = arena_strdup(&call.arena, node);
	move->running = true;
	client->moves[client->n_moves++] = move;
	return move;
}

int do_list_pushes(const struct client_call *begun, ListPushesResponse **ret, struct error *err)
{
	const ListPushesRequest *request = begun->request;
	struct client *client = begun->client;

	(void)err;
	*ret = new_list_pushes_response(begun->arena);
	(*ret)->time = wall_us();
	(*ret)->pushes = arena_alloc(begun->arena, SCRIPTED_COPIES * sizeof(PushState *));
	for (size_t i = 0; i < client->n_pushes; i++)
		if (!*request->id || strcmp(client->pushes[i]->id, request->id) == 0)
			(*ret)->pushes[(*ret)->n_pushes++] = client->pushes[i];
	return 0;
}

int do_start_move(const struct client_call *begun, StartMoveResponse **ret, struct error *err)
{
	const StartMoveRequest *request = begun->request;
	struct client *client = begun->client;

	if (client->unmovable != ERR_OK)
		return fail(err, client->unmovable, "volume '%s' cannot move to node '%s': no",
			    request->id, request->node_id);
	add_move(client, request->id, request->node_id);
	if (++client->moving > client->moving_max)
		client->moving_max = client->moving;
	*ret = new_start_move_response(begun->arena);
	return 0;
}

/* Give the volume to the agent of the move's target node. */
static void end_move(struct client *client, MoveState *move)
{
	Dataset *dataset = dataset_of(client, move->id);

	move->running = false;
	client->moved++;
	client->moving -= client->moving > 0;
	for (size_t i = 0; dataset && i < client->n_datasets; i++)
		if (client->datasets[i] == dataset)
			client->datasets[i] = client->datasets[--client->n_datasets];
	for (size_t i = 0; dataset && i < N_AGENTS; i++)
		if (strcmp(scripted[i].node, move->node_id) == 0)
			scripted[i].datasets[scripted[i].n_datasets++] = dataset;
}

/* Answer ListMoves. Only a request for a single volume brings the end of its move nearer
 * (move_looks). */
int do_list_moves(const struct client_call *begun, ListMovesResponse **ret, struct error *err)
{
	const ListMovesRequest *request = begun->request;
	struct client *client = begun->client;

	(void)err;
	*ret = new_list_moves_response(begun->arena);
	(*ret)->moves = arena_alloc(begun->arena, SCRIPTED_COPIES * sizeof(MoveState *));
	for (size_t i = 0; i < client->n_moves; i++) {
		MoveState *move = client->moves[i];
		if (*request->id && strcmp(move->id, request->id) != 0)
			continue;
		(*ret)->moves[(*ret)->n_moves++] = move;
		if (!*request->id || !move->running || move->given_up)
			continue;
		if (client->move_looks)
			client->move_looks--;
		else
			end_move(client, move);
	}
	return 0;
}

int do_list_copies(const struct client_call *begun, ListCopiesResponse **ret, struct error *err)
{
	const ListCopiesRequest *request = begun->request;
	HeldCopy *held = new_held_copy(begun->arena);

	(void)err;
	*ret = new_list_copies_response(begun->arena);
	if (!begun->client->copy)
		return 0;
	held->id = *request->id ? request->id : arena_strdup(begun->arena, "data");
	held->copy = begun->client->copy;
	held->synced = begun->client->copy_time;
	if (begun->client->speaker)
		held->owner_node_id = arena_strdup(begun->arena, begun->client->speaker);
	held->heard = begun->client->heard;
	(*ret)->copies = arena_alloc(begun->arena, sizeof(HeldCopy *));
	(*ret)->copies[(*ret)->n_copies++] = held;
	return 0;
}

int do_list_backups(const struct client_call *begun, ListBackupsResponse **ret, struct error *err)
{
	const struct client *client = begun->client;

	(void)err;
	*ret = new_list_backups_response(begun->arena);
	(*ret)->time = wall_us() / USEC;
	(*ret)->backups = arena_alloc(begun->arena, sizeof(BackupState *));
	if (client->backup)
		(*ret)->backups[(*ret)->n_backups++] = client->backup;
	return 0;
}

int do_drop_backup(const struct client_call *begun, DropBackupResponse **ret, struct error *err)
{
	(void)err;
	begun->client->backup = NULL;
	*ret = new_drop_backup_response(begun->arena);
	return 0;
}

int do_add_backup(const struct client_call *begun, AddBackupResponse **ret, struct error *err)
{
	const AddBackupRequest *request = begun->request;
	struct client *client = begun->client;

	client->backup_request = request;
	client->backups_asked++;
	/* The first answer has a task number, which all further requests have to contain. */
	assert_int_equal(request->task, client->backups_asked == 1 ? 0 : 7);
	*ret = new_add_backup_response(begun->arena);
	(*ret)->task = 7;
	(*ret)->exists = client->backups_asked > client->backup_looks;
	return client->backup_fails ? fail(err, ERR_FAILED_PRECONDITION, "%s", client->backup_fails)
				    : 0;
}
