/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The findings about data that is no volume: what a host that returned has put aside, what was
 * received, and deleted volumes whose time is nearly over.
 *
 * Invariant: a deleted volume is no fault, only a note, because it ends as its owner wanted.
 */
#include <time.h>

#include "controller/cli/adopt.h"
#include "controller/cli/doctor/doctor.h"
#include "controller/cli/print/amount.h"

#define SOON_S 86400 /* seconds: a deleted volume that is destroyed within them is a finding */

static void say_diverged(struct doctor *doctor, const struct member *member,
			 const DivergedVolume *volume)
{
	struct arena *arena = &doctor->cli->arena;

	doctor_say(doctor,
		   &(struct finding){
			   .level = DOCTOR_WAITS,
			   .volume = volume->id,
			   .node = member->node,
			   .text = arena_printf(arena,
						"%s that node '%s', which took it over, does not "
						"have: take what you need of it, then destroy it",
						amount_bytes(arena, (uint64_t)volume->used),
						volume->owner_node_id),
			   .type = arena_printf(arena, "zcsi diverged drop %s --node %s",
						volume->name, member->node)});
}

static void say_trashed(struct doctor *doctor, const struct owned *owned)
{
	struct arena *arena = &doctor->cli->arena;
	const TrashedDataset *volume = owned->entry;
	const int64_t left = volume->until - time(NULL);

	if (!volume->until || left > SOON_S)
		return;
	doctor_say(doctor,
		   &(struct finding){
			   .level = DOCTOR_NOTE,
			   .volume = volume->id,
			   .node = owned->owner->node,
			   .text = arena_printf(arena,
						"it was deleted, and is destroyed for good in %s "
						"if no snapshot keeps it",
						amount_time(arena, left > 0 ? left : 0)),
			   .type = arena_printf(arena, "zcsi trash restore %s", volume->leaf)});
}

static void say_received(struct doctor *doctor)
{
	struct cli *cli = doctor->cli;
	const struct reply *replies = fleet_ask(cli->fleet, &cli->arena, "ListReceived",
						&new_list_received_request(&cli->arena)->base);

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListReceivedResponse *list = replies[i].response;
		const char *node = cli->members[i].node;
		for (size_t k = 0; list && k < list->n_ids; k++) {
			const char *command =
				making_command(&cli->arena, &cli->members[i], list->ids[k]);
			doctor_say(doctor, &(struct finding){
						   .level = DOCTOR_WAITS,
						   .volume = list->ids[k],
						   .node = node,
						   .text = "it was received, and is no volume "
							   "yet: run the 'zcsi backup restore' "
							   "that was interrupted again; after "
							   "'zcsi receive' adopt it, with --size "
							   "of a filesystem, --format of a zvol",
						   .type = arena_printf(&cli->arena, "%s --node %s",
									command, node)});
		}
	}
}

void doctor_aside(struct doctor *doctor)
{
	struct cli *cli = doctor->cli;
	const struct reply *replies = fleet_ask(cli->fleet, &cli->arena, "ListDiverged",
						&new_list_diverged_request(&cli->arena)->base);

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListDivergedResponse *list = replies[i].response;
		for (size_t k = 0; list && k < list->n_volumes; k++)
			say_diverged(doctor, &cli->members[i], list->volumes[k]);
	}
	say_received(doctor);
	for (size_t i = 0; i < doctor->n_trash; i++)
		say_trashed(doctor, &doctor->trash[i]);
}
