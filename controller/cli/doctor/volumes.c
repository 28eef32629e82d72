/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The findings about volumes: the sentences of zcsi why, and publications that no job uses.
 *
 * Invariant: a sentence about a volume is made in one place, for zcsi why and for zcsi doctor.
 * Calls about single volumes are sent AT_A_TIME at once, not one after the other.
 */
#include <string.h>

#include "controller/cli/doctor/doctor.h"
#include "controller/cli/why/why.h"

#define AT_A_TIME 64 /* calls that run at the same time */

/* A question to the agent of a node about one volume. */
struct question {
	const struct member *member;
	const char *method;
	const ProtobufCMessage *request;
	struct reply reply;
};

static void ask_all(struct cli *cli, struct question *questions, size_t n)
{
	struct client_call *calls[AT_A_TIME];

	for (size_t i = 0; i < n; i += AT_A_TIME) {
		size_t end = n - i < AT_A_TIME ? n : i + AT_A_TIME;
		for (size_t k = i; k < end; k++)
			calls[k - i] = fleet_begin(cli->fleet, &cli->arena, questions[k].member->at,
						   questions[k].method, questions[k].request);
		for (size_t k = i; k < end; k++)
			client_finish(calls[k - i], &questions[k].reply.response,
				      &questions[k].reply.error);
	}
}

/* The sentences of zcsi why */

/*
 * Returns the answer to GetDataset for each volume, which is an error if its agent refuses calls
 * for it. A volume without copies cannot be refused, so its agent is not asked.
 */
static const struct reply *ask_accounts(struct doctor *doctor)
{
	struct arena *arena = &doctor->cli->arena;
	size_t n = 0;
	struct reply *accounts = arena_alloc(arena, (doctor->n_volumes + 1) * sizeof(*accounts));
	struct question *questions =
		arena_alloc(arena, (doctor->n_volumes + 1) * sizeof(*questions));

	for (size_t i = 0; i < doctor->n_volumes; i++) {
		GetDatasetRequest *request = new_get_dataset_request(arena);
		request->id = (char *)doctor->volumes[i].id;
		if (*((const Dataset *)doctor->volumes[i].entry)->lineage)
			questions[n++] = (struct question){
				doctor->volumes[i].owner, "GetDataset", &request->base, {0}};
	}
	ask_all(doctor->cli, questions, n);
	n = 0;
	for (size_t i = 0; i < doctor->n_volumes; i++) {
		const Dataset *volume = doctor->volumes[i].entry;
		accounts[i] = *volume->lineage ? questions[n++].reply
					       : (struct reply){.response = (void *)volume};
	}
	return accounts;
}

/* Returns the answers of all agents to ListPushes as if they had been asked for one volume. */
static const struct reply *pushes_of(const struct doctor *doctor, const char *id)
{
	struct cli *cli = doctor->cli;
	struct reply *replies = arena_alloc(&cli->arena, cli->n_members * sizeof(*replies));

	for (size_t i = 0; i < cli->n_members; i++) {
		const ListPushesResponse *all = doctor->pushes[i].response;
		replies[i] = doctor->pushes[i];
		if (!all)
			continue;
		ListPushesResponse *some = new_list_pushes_response(&cli->arena);
		some->time = all->time;
		some->pushes =
			arena_alloc(&cli->arena, (all->n_pushes + 1) * sizeof(*some->pushes));
		for (size_t k = 0; k < all->n_pushes; k++)
			if (strcmp(all->pushes[k]->id, id) == 0)
				some->pushes[some->n_pushes++] = all->pushes[k];
		replies[i].response = some;
	}
	return replies;
}

/* Returns the moves of a volume, or, if given_up, only those whose source has given it up. */
static const struct move_seen *moves_of(const struct doctor *doctor, const char *id, bool given_up,
					size_t *ret_n)
{
	struct move_seen *moves =
		arena_alloc(&doctor->cli->arena, (doctor->n_moves + 1) * sizeof(*moves));

	*ret_n = 0;
	for (size_t i = 0; i < doctor->n_moves; i++) {
		const MoveState *state = doctor->moves[i].state;
		if (strcmp(state->id, id) == 0 && (!given_up || state->given_up))
			moves[(*ret_n)++] = doctor->moves[i];
	}
	return moves;
}

/* Add the sentences of zcsi why that say what stops the volume or may stop it. */
static void take(struct doctor *doctor, const struct why *why, const char *node)
{
	for (const struct why_line *line = why->lines; line; line = line->next) {
		if (line->effect == WHY_FACT)
			continue;
		doctor_say(doctor,
			   &(struct finding){.level = line->effect == WHY_STOPS ? DOCTOR_STOPS
										: DOCTOR_MAY_STOP,
					     .volume = why->id,
					     .node = node,
					     .text = line->text,
					     .type = line->type});
	}
}

static struct why begin(const struct doctor *doctor, const char *id)
{
	struct why why = {
		.cli = doctor->cli, .id = id, .pushes = pushes_of(doctor, id), .no_nodes = true};

	why.moves = moves_of(doctor, id, false, &why.n_moves);
	return why;
}

/* Add the findings about the n volumes that have the id of volume number `at`. */
static void say_id(struct doctor *doctor, const struct reply *accounts, size_t at, size_t n)
{
	struct cli *cli = doctor->cli;
	struct why why = begin(doctor, doctor->volumes[at].id);
	struct reply *replies = arena_alloc(&cli->arena, cli->n_members * sizeof(*replies));

	why.end = &why.lines;
	why.volumes = &doctor->volumes[at];
	why.n_volumes = n;
	why.accounts = replies;
	for (size_t i = 0; i < n; i++)
		replies[why.volumes[i].owner->at] = accounts[at + i];
	if (n > 1)
		why_twice(&why);
	for (size_t i = 0; i < n; i++) {
		why_volume(&why, &why.volumes[i]);
		why_copies(&why, &why.volumes[i]);
	}
	/* A move is a finding only after its source has given the volume up. */
	why.moves = moves_of(doctor, why.id, true, &why.n_moves);
	why_moves(&why);
	take(doctor, &why, n > 1 ? NULL : doctor->volumes[at].owner->node);
}

/* Add findings about volumes that no agent lists, since their move has not ended. */
static void say_moving(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->n_moves; i++) {
		const MoveState *move = doctor->moves[i].state;
		bool listed = false;
		for (size_t k = 0; k < doctor->n_volumes; k++)
			listed |= strcmp(doctor->volumes[k].id, move->id) == 0;
		if (listed || !move->running || !move->given_up)
			continue;
		struct why why = begin(doctor, move->id);
		why.end = &why.lines;
		why_moves(&why);
		take(doctor, &why, move->node_id);
	}
}

/* Publications */

/* A publication, which the orchestrator may have forgotten. */
struct attached {
	const struct owned *volume;
	const Publication *publication;
	const struct question *question; /* GetDatasetUse of the publication's node, or NULL */
};

static void say_attached(struct doctor *doctor, const struct attached *attached)
{
	struct arena *arena = &doctor->cli->arena;
	const Publication *publication = attached->publication;
	const char *id = attached->volume->id, *node = publication->node_id;
	const GetDatasetUseResponse *use =
		attached->question ? attached->question->reply.response : NULL;
	struct finding finding = {.volume = id,
				  .node = node,
				  .type = arena_printf(arena, "zcsi unpublish %s %s", id, node)};

	if (strcmp(node, "?") == 0) {
		finding.level = DOCTOR_STOPS;
		finding.text = "its property zcsi:published cannot be read: stop all jobs that use "
			       "the volume first";
		finding.type = arena_printf(arena, "zcsi unpublish %s --force", id);
	} else if (publication->idle) {
		finding.level = DOCTOR_NOTE;
		finding.text = "it is still attached to the node, which does not use it any more";
	} else if (use && !use->n_paths) {
		finding.level = DOCTOR_WAITS;
		finding.text = "it is attached to the node and not mounted there, so a job is just "
			       "beginning or ending, or the orchestrator has forgotten it";
	} else {
		return;
	}
	doctor_say(doctor, &finding);
}

static size_t count_publications(const struct doctor *doctor)
{
	size_t n = 0;

	for (size_t i = 0; i < doctor->n_volumes; i++)
		n += ((const Dataset *)doctor->volumes[i].entry)->n_published;
	return n;
}

static void ask_use(struct doctor *doctor, const struct attached *attached,
		    struct question *question)
{
	struct cli *cli = doctor->cli;
	GetDatasetUseRequest *request = new_get_dataset_use_request(&cli->arena);
	const Dataset *volume = attached->volume->entry;

	request->id = volume->id;
	request->name = volume->name;
	*question = (struct question){fleet_node(cli->members, cli->n_members,
						 attached->publication->node_id),
				      "GetDatasetUse",
				      &request->base,
				      {0}};
}

static void say_publications(struct doctor *doctor)
{
	struct arena *arena = &doctor->cli->arena;
	size_t most = count_publications(doctor) + 1, n = 0, n_questions = 0;
	struct attached *all = arena_alloc(arena, most * sizeof(*all));
	struct question *questions = arena_alloc(arena, most * sizeof(*questions));

	for (size_t i = 0; i < doctor->n_volumes; i++) {
		const Dataset *volume = doctor->volumes[i].entry;
		for (size_t k = 0; k < volume->n_published; k++) {
			struct attached *each = &all[n++];
			*each = (struct attached){&doctor->volumes[i], volume->published[k], NULL};
			ask_use(doctor, each, &questions[n_questions]);
			if (questions[n_questions].member)
				each->question = &questions[n_questions++];
		}
	}
	ask_all(doctor->cli, questions, n_questions);
	for (size_t i = 0; i < n; i++)
		say_attached(doctor, &all[i]);
}

void doctor_volumes(struct doctor *doctor)
{
	const struct reply *accounts = ask_accounts(doctor);
	size_t n;

	for (size_t at = 0; at < doctor->n_volumes; at += n) {
		for (n = 1; at + n < doctor->n_volumes &&
			    strcmp(doctor->volumes[at].id, doctor->volumes[at + n].id) == 0;)
			n++;
		say_id(doctor, accounts, at, n);
	}
	say_moving(doctor);
	say_publications(doctor);
}
