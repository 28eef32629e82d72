/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The findings about copies of volumes that no agent has.
 *
 * Invariant: `zcsi failover` is advised only for a complete copy whose volume's node does not
 * answer, or is unknown, and never for a volume that is moving to another node. No command in a
 * finding destroys a copy, since it may be the last that there is of a volume.
 */
#include <string.h>

#include "controller/cli/doctor/doctor.h"
#include "controller/cli/print/amount.h"

/* Returns the node that had the volume and does not answer, or NULL. */
static const char *lost_owner(struct cli *cli, const HeldCopy *copy)
{
	if (*copy->owner_node_id)
		return fleet_node(cli->members, cli->n_members, copy->owner_node_id)
			       ? NULL
			       : copy->owner_node_id;
	for (size_t i = 0; i < copy->copy->n_node_ids; i++)
		if (!fleet_node(cli->members, cli->n_members, copy->copy->node_ids[i]))
			return copy->copy->node_ids[i];
	return NULL;
}

/* Returns true if an agent has the copy in its list of pushes, and so will drop it itself. */
static bool is_pushed(const struct doctor *doctor, const struct member *member, const char *id)
{
	for (size_t i = 0; i < doctor->cli->n_members; i++) {
		const ListPushesResponse *list = doctor->pushes[i].response;
		for (size_t k = 0; list && k < list->n_pushes; k++)
			if (strcmp(list->pushes[k]->id, id) == 0 &&
			    strcmp(list->pushes[k]->node_id, member->node) == 0)
				return true;
	}
	return false;
}

/* Say that all nodes of a copy answer, and none has its volume. */
static void say_ownerless(struct doctor *doctor, const struct member *member, const HeldCopy *copy)
{
	struct arena *arena = &doctor->cli->arena;
	const char *name = copy->copy->name, *leaf = strrchr(name, '/');

	if (!leaf || !doctor_list_is_complete(doctor) || is_pushed(doctor, member, copy->id))
		return;
	doctor_say(
		doctor,
		&(struct finding){
			.level = DOCTOR_WAITS,
			.volume = copy->id,
			.node = member->node,
			.text = "no node has the volume of this copy any more: keep it under "
				"another name there, and send it to 'zcsi receive' if you need it",
			.type = arena_printf(arena, "zfs rename %s %.*s/%s-copy", name,
					     (int)strcspn(name, "/"), name, leaf + 1)});
}

static bool is_complete(const HeldCopy *copy)
{
	return copy->copy->n_snapshots > 0;
}

static void say(struct doctor *doctor, const struct member *member, const HeldCopy *copy)
{
	struct arena *arena = &doctor->cli->arena;
	const char *owner = lost_owner(doctor->cli, copy);

	if (!owner) {
		say_ownerless(doctor, member, copy);
		return;
	}
	struct finding finding = {.level = DOCTOR_STOPS, .volume = copy->id, .node = owner};
	if (is_complete(copy)) {
		const char *age = amount_moment(arena, copy->copy->snapshots[0]->creation);
		finding.text = arena_printf(arena,
					    "the node that has it does not answer; node '%s' has a "
					    "copy of %s, which can take its place",
					    member->node, age);
		finding.type = arena_printf(arena, "zcsi failover %s --lost %s", copy->id, owner);
	} else {
		finding.text = arena_printf(arena,
					    "the node that has it does not answer, and the copy on "
					    "node '%s' is not complete: bring that node back",
					    member->node);
	}
	doctor_say(doctor, &finding);
}

/*
 * Returns true if the copy is the one that the finding about its volume names: the first complete
 * one, or the first one if none is complete.
 */
static bool is_chosen(const struct cli *cli, const struct reply *replies, const HeldCopy *copy)
{
	const HeldCopy *chosen = NULL;

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListCopiesResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_copies; k++) {
			const HeldCopy *each = list->copies[k];
			if (strcmp(each->id, copy->id) == 0 &&
			    (!chosen || is_complete(each) > is_complete(chosen)))
				chosen = each;
		}
	}
	return chosen == copy;
}

void doctor_lost(struct doctor *doctor)
{
	struct cli *cli = doctor->cli;
	const struct reply *replies = fleet_ask(cli->fleet, &cli->arena, "ListCopies",
						&new_list_copies_request(&cli->arena)->base);

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListCopiesResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_copies; k++)
			if (!doctor_has_volume(doctor, list->copies[k]->id) &&
			    is_chosen(cli, replies, list->copies[k]))
				say(doctor, &cli->members[i], list->copies[k]);
	}
}
