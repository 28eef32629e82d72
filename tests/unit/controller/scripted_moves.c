/* SPDX-License-Identifier: MPL-2.0 */
/* The moves of the agents in memory. A part of scripted_agents.c. */
#include "tests/unit/controller/scripted_methods.h"

#include <poll.h>

#include "common/clock.h"

void set_copies(Dataset *dataset, const char *nodes)
{
	char *rest = arena_strdup(&call.arena, nodes), *node;

	dataset->copies = arena_alloc(&call.arena, N_AGENTS * sizeof(*dataset->copies));
	dataset->n_copies = 0;
	while ((node = strsep(&rest, " "))) {
		DatasetCopy *copy = new_dataset_copy(&call.arena);
		copy->node_id = node;
		dataset->copies[dataset->n_copies++] = copy;
	}
	dataset->follows = true;
}

/* Give all volumes of an agent to the node that they move to. */
static void scripted_arrive(struct client *from)
{
	for (size_t i = 0; i < N_AGENTS; i++) {
		if (strcmp(scripted[i].node, from->moves_to) != 0)
			continue;
		for (size_t k = 0; k < from->n_datasets; k++) {
			set_copies(from->datasets[k], from->node);
			scripted[i].datasets[scripted[i].n_datasets++] = from->datasets[k];
		}
	}
	from->n_datasets = 0;
}

static MoveState *scripted_move(const struct client_call *begun, const char *id)
{
	const struct client *client = begun->client;
	MoveState *move = new_move_state(begun->arena);

	move->id = arena_strdup(begun->arena, id);
	move->node_id = arena_strdup(begun->arena, client->moves_to);
	move->running = client->n_datasets && !client->move_fails;
	move->sent = client->sent;
	move->total = client->total;
	move->sending_ms = client->since;
	if (client->move_fails)
		move->error = arena_strdup(begun->arena, client->move_fails);
	if (client->failed_before)
		move->failed_before = arena_strdup(begun->arena, client->failed_before);
	return move;
}

static int scripted_hang(const struct client_call *begun, struct error *err)
{
	poll(NULL, 0, (int)time_left_ms(begun->deadline));
	return fail(err, ERR_DEADLINE_EXCEEDED, "no answer in time");
}

int do_move_dataset(const struct client_call *begun, MoveDatasetResponse **ret, struct error *err)
{
	const MoveDatasetRequest *request = begun->request;
	struct client *client = begun->client;

	if (client->hangs)
		return scripted_hang(begun, err);
	if (client->immovable != ERR_OK)
		return fail(err, client->immovable, "it is attached to node 'a'");
	if (!dataset_of(client, request->id))
		return fail(err, ERR_NOT_FOUND, "not here");
	client->moves_begun += !client->moves_to;
	client->moves_to = arena_strdup(&call.arena, request->node_id);
	*ret = new_move_dataset_response(begun->arena);
	(*ret)->move = scripted_move(begun, request->id);
	return 0;
}

int do_get_dataset_move(const struct client_call *begun, GetDatasetMoveResponse **ret,
			struct error *err)
{
	const GetDatasetMoveRequest *request = begun->request;
	struct client *client = begun->client;

	client->moves_asked++;
	if (client->hangs)
		return scripted_hang(begun, err);
	*ret = new_get_dataset_move_response(begun->arena);
	if (!client->moves_to)
		return 0;
	if (client->looks && client->moves_asked >= client->looks)
		scripted_arrive(client);
	(*ret)->move = scripted_move(begun, request->id);
	return 0;
}

int do_get_dataset_copy(const struct client_call *begun, GetDatasetCopyResponse **ret,
			struct error *err)
{
	char *nodes[] = {(char *)"a", (char *)"b"};

	(void)err;
	*ret = new_get_dataset_copy_response(begun->arena);
	(*ret)->time = begun->client->copy_time;
	(*ret)->n_node_ids = COUNT(nodes);
	(*ret)->node_ids = arena_alloc(begun->arena, sizeof(nodes));
	memcpy((*ret)->node_ids, nodes, sizeof(nodes));
	return 0;
}
