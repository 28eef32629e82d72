/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The former owner's call of Promote.
 *
 * Invariant: the request is made of what the pool has, so a zcsi-node that starts after a kill
 * sends the same request again.
 */
#include "node/move/offer.h"

#include <string.h>

#include "node/copy/history.h"
#include "node/move/ask.h"

static CopyPoint *copy_point(struct arena *arena, const char *node, uint64_t guid)
{
	CopyPoint *point = new_copy_point(arena);

	point->node_id = arena_strdup(arena, node);
	point->guid = guid;
	return point;
}

/*
 * Add the newest snapshot of each other copy, which only the bookmarks on this host show. With two
 * members there is no other copy.
 */
static int add_copies(struct depart *depart, const struct place *place, PromoteRequest *request,
		      struct error *err)
{
	const struct members *members = &place->members;
	struct arena *arena = &depart->arena;
	struct history history;

	if (members->n < 3)
		return 0;
	if (history_read(arena, place->name, &history, err) < 0)
		return -1;
	request->copies = arena_alloc(arena, (members->n + 1) * sizeof(*request->copies));
	request->copies[request->n_copies++] = copy_point(arena, depart->node->id, request->guid);
	for (size_t i = 0; i < members->n; i++) {
		const char *name = history_bookmark(arena, place->name, members->nodes[i]);
		const struct point *has = history_named(&history, name);
		if (has && strcmp(members->nodes[i], depart->to) != 0)
			request->copies[request->n_copies++] =
				copy_point(arena, members->nodes[i], has->guid);
	}
	return 0;
}

int offer_volume(struct depart *depart, const struct place *place, bool check, struct error *err)
{
	const struct place_snapshot *end = place_marked(place);
	PromoteRequest *request = new_promote_request(&depart->arena);
	const PromoteResponse *response;

	request->id = arena_strdup(&depart->arena, depart->id);
	request->from_node_id = arena_strdup(&depart->arena, depart->node->id);
	request->epoch = end->epoch;
	request->guid = end->guid;
	request->lineage = (char *)place->members.lineage;
	request->reserved = place->reserved;
	request->check = check;
	if (!check && add_copies(depart, place, request, err) < 0)
		return -1;
	return ask_node(depart->node, depart->to, &depart->arena, "Promote", &request->base,
			&response, err);
}
