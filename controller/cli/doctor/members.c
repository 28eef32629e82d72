/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The findings about nodes that are to have copies of volumes, or have an old copy to be dropped.
 *
 * Invariant: a node is called gone only if no agent that was asked can be that node: the host of
 * each agent that does not answer is in the list of another agent.
 */
#include <string.h>

#include "controller/cli/doctor/doctor.h"

static bool is_host(const struct doctor *doctor, const char *node)
{
	for (size_t i = 0; i < doctor->n_hosts; i++)
		if (!doctor->hosts[i]->forgotten && strcmp(doctor->hosts[i]->node_id, node) == 0)
			return true;
	return false;
}

/* Returns true if an agent does not answer, and no other agent has its node id in its list. */
static bool any_unknown(const struct doctor *doctor)
{
	const struct cli *cli = doctor->cli;
	bool any = false;

	for (size_t i = 0; i < cli->n_members; i++) {
		bool known = cli->members[i].host != NULL;
		for (size_t k = 0; k < doctor->n_hosts; k++)
			known |= strcmp(doctor->hosts[k]->endpoint, cli->members[i].endpoint) == 0;
		any |= !known;
	}
	return any;
}

/* Add a finding about a node that does not answer, with the command that gives its copy up. */
static void say_gone(struct doctor *doctor, const struct member *owner, const PushState *push,
		     enum doctor_level level, const char *text)
{
	struct arena *arena = &doctor->cli->arena;

	doctor_say(doctor, &(struct finding){
				   .level = level,
				   .volume = push->id,
				   .node = owner->node,
				   .text = arena_printf(arena, "node '%s'%s", push->node_id, text),
				   .type = arena_printf(arena, "zcsi copy drop %s %s --gone",
							push->id, push->node_id)});
}

static void say_owed(struct doctor *doctor, const struct member *owner, const PushState *push)
{
	struct arena *arena = &doctor->cli->arena;

	doctor_say(doctor,
		   &(struct finding){
			   .level = DOCTOR_WAITS,
			   .volume = push->id,
			   .node = owner->node,
			   .text = arena_printf(arena,
						"node '%s', which was replaced, has its old copy, "
						"which cannot be dropped: %s",
						push->node_id, push->error),
			   .type = arena_printf(arena, "zcsi copy drop %s %s", push->id,
						push->node_id)});
}

static void look(struct doctor *doctor, const struct member *owner, const PushState *push)
{
	const struct cli *cli = doctor->cli;
	bool answers = fleet_node(cli->members, cli->n_members, push->node_id) != NULL;

	if (push->deleted)
		return;
	if (push->owed && answers && push->failed)
		say_owed(doctor, owner, push);
	else if (push->owed && !answers)
		say_gone(doctor, owner, push, DOCTOR_WAITS,
			 " did not answer and has been replaced; its old copy is dropped "
			 "when it answers; if it never comes back");
	else if (!push->owed && !answers && !is_host(doctor, push->node_id) && !any_unknown(doctor))
		say_gone(doctor, owner, push, DOCTOR_MAY_STOP,
			 ", which is to have a copy, is none of the agents, and no agent "
			 "has it on its list; if it is gone for good");
}

void doctor_members(struct doctor *doctor)
{
	const struct cli *cli = doctor->cli;

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListPushesResponse *list = doctor->pushes[i].response;
		for (size_t k = 0; list && k < list->n_pushes; k++)
			look(doctor, &cli->members[i], list->pushes[k]);
	}
}
