/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The repair of one volume. The rule is in decide.c; here are the facts and the two steps.
 *
 * Invariant: a step is one change of zcsi:members and zcsi:push, made as a call for the volume,
 * after the facts were gathered again. The pusher then makes or drops the copies, as these
 * properties say.
 */
#include "node/repair/mend.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/metrics.h"
#include "node/catalog/change.h"
#include "node/copy/membership.h"
#include "node/copy/pusher.h"
#include "node/host/owner.h"
#include "node/host/troubles.h"
#include "node/move/mover.h"
#include "node/repair/candidates.h"
#include "node/repair/decide.h"
#include "node/stream/copies.h"
#include "node/stream/keyed.h"

#define FIND_MS 10000 /* for a volume in the catalog */
#define PINNED  "members="

static struct metric steps =
	METRIC(COUNTER, "zcsi_repairs_total",
	       "Steps of repairs: a node was added for a lost one, or the lost one removed.",
	       "step");

/* A volume, and what is to be done to it. */
struct patient {
	const struct node *node;
	const struct survey *survey;
	struct arena *arena;
	struct push push; /* for membership_admit; `to` is set when a node was chosen */
	size_t wanted;
	const char **candidates;
	size_t n_candidates;
	struct repair repair;
};

/* Returns true if the parameters of the volume name the nodes that may have it. */
static bool is_pinned(const struct dataset *volume)
{
	for (const char *line = volume->parameters; line && *line;) {
		if (strncmp(line, PINNED, strlen(PINNED)) == 0)
			return true;
		line = strchr(line, '\n');
		line += line != NULL;
	}
	return false;
}

static bool is_moving(const struct patient *patient)
{
	size_t n;
	MoveState **moves = mover_list(patient->node->copies->mover, patient->arena,
				       patient->push.volume->id, &n);

	for (size_t i = 0; i < n; i++)
		if (moves[i]->running)
			return true;
	return false;
}

/* Returns why the volume is not repaired now, or NULL. */
static const char *hindrance(const struct patient *patient)
{
	const struct dataset *volume = patient->push.volume;
	struct error err;

	if (is_pinned(volume))
		return "its parameter members says which nodes have the data";
	if (patient->push.rules.paused)
		return "it is paused";
	if (is_moving(patient))
		return "it is moving";
	if (owner_check(patient->node, volume, &err) < 0)
		return "it is not confirmed that this node owns it";
	return NULL;
}

static struct repair_member member_of(const struct patient *patient, const char *node,
				      const struct pushed *pushed, size_t n)
{
	const struct survey *survey = patient->survey;
	struct repair_member member = {.node = node,
				       .silent = silences_of(survey->silences, node, survey->now)};

	for (size_t i = 0; i < n; i++)
		if (strcmp(pushed[i].to, node) == 0)
			member.synced = pushed[i].synced;
	return member;
}

/* Gather the facts, and set patient->repair. */
static void gather(struct patient *patient)
{
	const struct push *push = &patient->push;
	const struct members *members = &push->members;
	const struct survey *survey = patient->survey;
	struct repair_member rows[MEMBERS_MAX];
	size_t n_pushed;
	const struct pushed *pushed = pusher_copies(patient->node->copies->pusher, patient->arena,
						    push->volume->name, &n_pushed);
	struct repair_facts facts = {.hindered = hindrance(patient),
				     .after = push->rules.repair_after,
				     .members = rows,
				     .agents = survey->n};

	patient->wanted = push->rules.nodes ? (size_t)push->rules.nodes : members->n;
	patient->candidates =
		candidates_choose(patient->arena, patient->node, survey->hosts, survey->n,
				  push->volume, members, &patient->n_candidates);
	for (size_t i = 0; i < members->n; i++)
		if (strcmp(members->nodes[i], patient->node->id) != 0)
			rows[facts.n++] = member_of(patient, members->nodes[i], pushed, n_pushed);
	for (size_t i = 0; i < survey->n; i++)
		facts.silent += !survey->hosts[i].says;
	facts.wanted = patient->wanted;
	facts.candidates = patient->n_candidates;
	patient->repair = repair_decide(&facts);
}

/* Set patient->push for the volume. Returns false if its members cannot be read. */
static bool describe(struct patient *patient, const struct dataset *volume)
{
	const struct node *node = patient->node;

	patient->push = (struct push){.node = node,
				      .loop = node->copies->loop,
				      .volume = volume,
				      .rules = push_rules_parse(volume->push),
				      .arena = patient->arena};
	return members_parse(patient->arena, volume->members, &patient->push.members);
}

/* Record why a lost node is not replaced, so that answers about the volume can say it. */
static void note(const struct patient *patient, const char *why)
{
	const char *id = patient->push.volume->id, *lost = patient->repair.lost;
	const char *text =
		arena_printf(patient->arena,
			     "node '%s', which has a copy, has been silent for longer "
			     "than repair_after, and is not replaced: %s; bring it back, "
			     "or, if it is gone for good, do without it",
			     lost, why);

	troubles_note(patient->node->unrepaired, id, text,
		      arena_printf(patient->arena, "zcsi copy drop %s %s --gone", id, lost));
}

/* Record why a lost node is not replaced, and log it once for each silence. */
static void report(const struct patient *patient, const char *why)
{
	struct silence *silence = silences_find(patient->survey->silences, patient->repair.lost);

	note(patient, why);
	if (!silence || silence->logged)
		return;
	silence->logged = true;
	log_warn("cannot replace a lost node", log_str("volume", patient->push.volume->id),
		 log_str("node", silence->node), log_str("reason", why));
}

/* Find a node that takes a copy, the best first, and add it to the members. */
static int add(struct patient *patient, struct error *err)
{
	struct push *push = &patient->push;
	const struct members before = push->members;

	for (size_t i = 0; i < patient->n_candidates; i++) {
		push->members = before;
		push->to = patient->candidates[i];
		if (membership_admit(push, 0, err) < 0)
			continue;
		push->rules.nodes = (int64_t)patient->wanted;
		members_put_first(&push->members, patient->repair.lost);
		if (membership_record(push, &push->members, err) < 0)
			return -1;
		metric_count(&steps, "added");
		log_warn("replacement copy is added", log_str("volume", push->volume->id),
			 log_str("node", patient->repair.lost), log_str("new", push->to));
		return 0;
	}
	return -1;
}

/* Give the lost node up: its copy is dropped as soon as it answers. */
static int give_up(struct patient *patient, struct error *err)
{
	struct push *push = &patient->push;
	const char *lost = patient->repair.lost;

	if (!members_give_up(&push->members, lost))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "%d nodes that do not answer still have copies to be dropped",
			    MEMBERS_MAX);
	if (push->rules.nodes >= (int64_t)push->members.n)
		push->rules.nodes = 0;
	if (membership_record(push, &push->members, err) < 0)
		return -1;
	metric_count(&steps, "removed");
	log_warn("lost node is replaced, its copy is dropped when it answers",
		 log_str("volume", push->volume->id), log_str("node", lost));
	return 0;
}

/* Read the volume again, now that no other call changes it, and take the step. */
static void take_step(void *arg)
{
	struct patient *patient = arg;
	const struct node *node = patient->node;
	struct dataset *volume;
	struct error err;

	if (catalog_get(node->catalog, now_ms() + FIND_MS, patient->arena, patient->push.volume->id,
			&volume, &err) < 0 ||
	    !describe(patient, volume))
		return;
	gather(patient);
	if (patient->repair.step == REPAIR_NONE)
		return;
	int failed =
		patient->repair.step == REPAIR_ADD ? add(patient, &err) : give_up(patient, &err);
	if (failed)
		report(patient, err.text);
	else
		pusher_push(node->copies->pusher, volume->id);
}

void mend(const struct node *node, const struct survey *survey, const struct dataset *volume)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct patient patient = {.node = node, .survey = survey, .arena = &arena};

	if (!describe(&patient, volume))
		return;
	gather(&patient);
	if (patient.repair.step != REPAIR_NONE)
		keyed_run(node->copies, volume->id, take_step, &patient);
	else if (patient.repair.why)
		report(&patient, patient.repair.why);
}

void mend_metrics_write(FILE *out)
{
	metric_begin(&steps, "added");
	metric_begin(&steps, "removed");
	metric_write(&steps, out);
}
