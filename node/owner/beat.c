/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A round of questions to the members of all volumes.
 *
 * Invariant: each member is asked once in a round, for all volumes of which it is to have a copy.
 * An owed node, one that was replaced and may have an old copy, is asked too, because it may have
 * taken a volume over, but its answer confirms no owner.
 */
#include "node/owner/beat.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/copy/pusher.h"
#include "node/host/owner.h"
#include "node/move/ask.h"
#include "node/owner/outcome.h"
#include "node/record/members.h"
#include "node/record/ownership.h"
#include "node/replica/held.h"
#include "node/stream/copies.h"
#include "proto/copy.h"

#define HEAR_MS 5000 /* for the answer of a node */

struct subject {
	const struct dataset *volume;
	struct members members;
	struct outcome outcome;
};

struct round {
	const struct node *node;
	struct rounds *rounds;
	struct arena *arena;
	struct subject *subjects;
	size_t n;
	const struct pushed *pushed; /* how far the copies are */
	size_t n_pushed;
};

static void begin(struct round *round)
{
	struct dataset_list volumes;
	uint64_t *marks;

	round->pushed = pusher_list(round->node->copies->pusher, round->arena, &round->n_pushed);
	catalog_with_members(round->node->catalog, round->arena, &volumes, &marks);
	round->subjects = arena_alloc(round->arena, (volumes.n + 1) * sizeof(*round->subjects));
	for (size_t i = 0; i < volumes.n; i++) {
		struct subject *subject = &round->subjects[round->n];
		const struct dataset *volume = volumes.rows[i];
		subject->volume = volume;
		subject->outcome.id = volume->id;
		if (!dataset_is_trash(catalog_parent(round->node->catalog), volume->name) &&
		    members_parse(round->arena, volume->members, &subject->members))
			round->n++;
	}
}

/* Returns the time until which the copy on a node has all that was written; 0: not known. */
static int64_t synced_of(const struct round *round, const char *id, const char *to)
{
	for (size_t i = 0; i < round->n_pushed; i++)
		if (!round->pushed[i].deleted && strcmp(round->pushed[i].to, to) == 0 &&
		    strcmp(round->pushed[i].id, id) == 0)
			return round->pushed[i].synced;
	return 0;
}

/* Returns true if the node has, or may have, a copy of the volume. */
static bool may_have(const struct subject *subject, const char *node)
{
	return members_have(&subject->members, node) || members_owe(&subject->members, node);
}

static OwnedVolume *describe(const struct round *round, const struct subject *subject,
			     const char *to)
{
	OwnedVolume *owned = new_owned_volume(round->arena);

	owned->id = subject->volume->id;
	owned->lineage = (char *)subject->members.lineage;
	owned->epoch = subject->volume->epoch;
	owned->synced = synced_of(round, subject->volume->id, to);
	return owned;
}

static void take_newer(const struct round *round, const NewerOwner *newer)
{
	const char *node = *newer->node_id ? newer->node_id : OWNERSHIP_UNKNOWN;

	for (size_t i = 0; i < round->n; i++) {
		struct subject *subject = &round->subjects[i];
		if (strcmp(subject->volume->id, newer->id) == 0 &&
		    newer->epoch > subject->volume->epoch)
			ownership_pass(&subject->outcome.passed, node, newer->epoch);
	}
}

/*
 * Note that a member has answered. response: NULL from an older zcsi-node, which has no Hear and
 * counts as having each copy.
 */
static void take_heard(const struct round *round, const char *to, const HearResponse *response)
{
	for (size_t i = 0; i < round->n; i++) {
		struct subject *subject = &round->subjects[i];
		bool has = !response;
		for (size_t k = 0; response && k < response->n_ids; k++)
			has |= strcmp(response->ids[k], subject->volume->id) == 0;
		if (!members_have(&subject->members, to))
			continue;
		members_add(&subject->outcome.answered, to);
		if (has)
			members_add(&subject->outcome.heard, to);
	}
}

static void ask(struct round *round, const char *to)
{
	HearRequest *request = new_hear_request(round->arena);
	const HearResponse *response;
	struct error err;

	request->node_id = arena_strdup(round->arena, round->node->id);
	request->volumes = arena_alloc(round->arena, (round->n + 1) * sizeof(*request->volumes));
	for (size_t i = 0; i < round->n; i++)
		if (may_have(&round->subjects[i], to))
			request->volumes[request->n_volumes++] =
				describe(round, &round->subjects[i], to);
	int failed = ask_node_until(round->node, to, round->arena, "Hear", &request->base,
				    now_ms() + HEAR_MS, &response, &err);
	/* An older zcsi-node, which does not have Hear, cannot have taken a volume over. */
	if (failed && err.code != ERR_UNIMPLEMENTED) {
		log_debug("cannot call Hear of a node with copies", log_str("node", to),
			  log_str("error", err.text));
		return;
	}
	take_heard(round, to, failed ? NULL : response);
	for (size_t i = 0; !failed && i < response->n_newer; i++)
		take_newer(round, response->newer[i]);
}

/* Returns true if the node was asked already: an earlier volume may have a copy there. */
static bool was_asked(const struct round *round, size_t subject, const char *to)
{
	for (size_t i = 0; i < subject; i++)
		if (may_have(&round->subjects[i], to))
			return true;
	return false;
}

static void ask_each(struct round *round, size_t subject, const char *const *nodes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!rounds_stopping(round->rounds) && strcmp(nodes[i], round->node->id) != 0 &&
		    !was_asked(round, subject, nodes[i]))
			ask(round, nodes[i]);
}

static void ask_all(struct round *round)
{
	for (size_t i = 0; i < round->n; i++) {
		const struct members *members = &round->subjects[i].members;
		ask_each(round, i, members->nodes, members->n);
		ask_each(round, i, members->owed, members->n_owed);
	}
}

static bool is_settled(const struct round *round, const struct subject *subject)
{
	return outcome_is_settled(round->node, round->arena, subject->volume, &subject->outcome);
}

/* Report the volumes whose owner is to be confirmed or changed. */
static void report_open(const struct round *round)
{
	const char **ids = arena_alloc(round->arena, (round->n + 1) * sizeof(*ids));
	size_t n = 0;

	for (size_t i = 0; i < round->n; i++)
		if (!is_settled(round, &round->subjects[i]))
			ids[n++] = round->subjects[i].volume->id;
	owners_answered(round->node->owners, ids, n);
}

static enum beat follow_all(const struct round *round)
{
	enum beat beat = BEAT_SETTLED;

	for (size_t i = 0; i < round->n && !rounds_stopping(round->rounds); i++) {
		const struct subject *subject = &round->subjects[i];
		if (is_settled(round, subject))
			continue;
		if (!outcome_follow(round->node, round->arena, &subject->outcome))
			beat = BEAT_OPEN;
		owners_recorded(round->node->owners, subject->volume->id);
	}
	return beat;
}

enum beat beat_all(const struct node *node, struct rounds *rounds)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct round round = {.node = node, .rounds = rounds, .arena = &arena};

	if (!held_possible())
		return BEAT_NONE;
	begin(&round);
	if (!round.n)
		return BEAT_NONE;
	ask_all(&round);
	report_open(&round);
	return follow_all(&round);
}
