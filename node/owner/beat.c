/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A round of questions to the members of all volumes.
 *
 * Invariant: what follows from the answers is done as a call for the volume, after the volume was
 * read again. A higher epoch counts from whichever member it comes.
 */
#include "node/owner/beat.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/copy/pusher.h"
#include "node/export/exports.h"
#include "node/host/moves.h"
#include "node/host/owner.h"
#include "node/move/ask.h"
#include "node/owner/aside.h"
#include "node/owner/confirm.h"
#include "node/record/members.h"
#include "node/record/ownership.h"
#include "node/replica/held.h"
#include "node/stream/copies.h"
#include "node/stream/keyed.h"
#include "proto/copy.h"

#define FIND_MS 10000 /* for a volume in the catalog */
#define HEAR_MS 5000  /* for the answer of a node */

/* A volume, and what its members say. */
struct subject {
	const struct dataset *volume;
	struct members members;
	struct members heard; /* those that have answered, and have a copy */
	const char *newer;    /* the owner with the highest epoch above ours */
	int64_t newer_epoch;  /* 0: none */
};

struct round {
	const struct node *node;
	const _Atomic bool *stopping;
	struct arena *arena;
	struct subject *subjects;
	size_t n;
	const struct pushed *pushed; /* how far the copies are */
	size_t n_pushed;
	bool open; /* see beat_all */
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
	for (size_t i = 0; i < round->n; i++) {
		struct subject *subject = &round->subjects[i];
		if (strcmp(subject->volume->id, newer->id) != 0 ||
		    newer->epoch <= subject->volume->epoch || newer->epoch <= subject->newer_epoch)
			continue;
		subject->newer_epoch = newer->epoch;
		subject->newer = *newer->node_id ? newer->node_id : OWNERSHIP_UNKNOWN;
	}
}

/* Note that a member has answered. response: NULL from one that knows no later owners. */
static void take_heard(const struct round *round, const char *to, const HearResponse *response)
{
	for (size_t i = 0; i < round->n; i++) {
		struct subject *subject = &round->subjects[i];
		bool has = !response;
		for (size_t k = 0; response && k < response->n_ids; k++)
			has |= strcmp(response->ids[k], subject->volume->id) == 0;
		if (has && members_have(&subject->members, to))
			members_add(&subject->heard, to);
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
		if (members_have(&round->subjects[i].members, to))
			request->volumes[request->n_volumes++] =
				describe(round, &round->subjects[i], to);
	int failed = ask_node_until(round->node, to, round->arena, "Hear", &request->base,
				    now_ms() + HEAR_MS, &response, &err);
	/* A zcsi-node that does not know the call has taken nothing over. */
	if (failed && err.code != ERR_UNIMPLEMENTED) {
		log_debug("a node with copies is silent", log_str("node", to),
			  log_str("error", err.text));
		return;
	}
	take_heard(round, to, failed ? NULL : response);
	for (size_t i = 0; !failed && i < response->n_newer; i++)
		take_newer(round, response->newer[i]);
}

/* Returns true if a subject before this place has the member too. */
static bool was_asked(const struct round *round, size_t subject, const char *to)
{
	for (size_t i = 0; i < subject; i++)
		if (members_have(&round->subjects[i].members, to))
			return true;
	return false;
}

static void ask_all(struct round *round)
{
	for (size_t i = 0; i < round->n; i++) {
		const struct members *members = &round->subjects[i].members;
		for (size_t k = 0; k < members->n; k++)
			if (!*round->stopping && strcmp(members->nodes[k], round->node->id) != 0 &&
			    !was_asked(round, i, members->nodes[k]))
				ask(round, members->nodes[k]);
	}
}

/* The consequences for a volume */

struct outcome {
	struct round *round;
	const struct subject *subject;
};

static int make_way(const struct round *round, struct dataset *volume, struct error *err)
{
	if (aside_step(round->node, round->arena, volume, err) == 0)
		return 0;
	log_debug("a volume that another node took over cannot make way yet",
		  log_str("volume", volume->id), log_str("error", err->text));
	return -1;
}

/*
 * Check that so many members have answered that none of the others can have taken the volume over.
 * A member whose copy never was complete, so that the volume has no bookmark of it, cannot.
 */
static int check_majority(const struct round *round, const struct subject *subject,
			  const struct dataset *volume, const struct ownership *ownership,
			  struct error *err)
{
	struct members complete = subject->members;
	struct history history;
	size_t heard = 0;

	if (history_read(round->arena, volume->name, &history, err) < 0)
		return -1;
	for (size_t i = 0; i < subject->members.n; i++) {
		const char *other = subject->members.nodes[i];
		const char *mark = history_bookmark(round->arena, volume->name, other);
		if (strcmp(other, round->node->id) == 0)
			continue;
		if (history_named(&history, mark))
			heard += members_have(&subject->heard, other);
		else
			members_remove(&complete, other);
	}
	if (ownership_is_majority(ownership, &complete, heard))
		return 0;
	return fail(err, ERR_UNAVAILABLE, "%zu of %zu nodes with copies have answered", heard,
		    complete.n - 1);
}

static int act(const struct round *round, const struct subject *subject, struct dataset *volume,
	       struct error *err)
{
	struct ownership ownership = ownership_parse(round->arena, volume->owner);

	if (subject->newer_epoch > ownership.newer_epoch && subject->newer_epoch > volume->epoch) {
		ownership.newer = subject->newer;
		ownership.newer_epoch = subject->newer_epoch;
		log_warn("another node took a volume over", log_str("volume", volume->id),
			 log_str("node", subject->newer));
		if (confirm_record(round->node, round->arena, volume, &ownership, err) < 0)
			return -1;
	}
	if (ownership.newer_epoch)
		return make_way(round, volume, err);
	if (owner_is_confirmed(round->node, volume))
		return 0;
	if (check_majority(round, subject, volume, &ownership, err) < 0)
		return -1;
	if (confirm_owner(round->node, round->arena, volume, err) < 0)
		return -1;
	return exports_apply(round->arena, round->node, volume, now_ms() + FIND_MS, err);
}

static void act_keyed(void *arg)
{
	const struct outcome *outcome = arg;
	const struct node *node = outcome->round->node;
	const struct subject *subject = outcome->subject;
	struct dataset *volume;
	struct error err;

	if (moves_check(node->moves, subject->volume->id, &err) < 0 ||
	    catalog_get(node->catalog, now_ms() + FIND_MS, outcome->round->arena,
			subject->volume->id, &volume, &err) < 0)
		return;
	if (act(outcome->round, subject, volume, &err) == 0)
		return;
	outcome->round->open = true;
	log_debug("a volume waits for its nodes", log_str("volume", volume->id),
		  log_str("error", err.text));
}

/* Returns true if nothing follows for the volume, so its queue need not be entered. */
static bool is_settled(const struct round *round, const struct subject *subject)
{
	return !subject->newer_epoch && owner_is_confirmed(round->node, subject->volume);
}

bool beat_all(const struct node *node, const _Atomic bool *stopping)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct round round = {.node = node, .stopping = stopping, .arena = &arena};

	if (!held_possible())
		return false;
	begin(&round);
	ask_all(&round);
	for (size_t i = 0; i < round.n && !*stopping; i++) {
		struct outcome outcome = {&round, &round.subjects[i]};
		if (!is_settled(&round, outcome.subject))
			keyed_run(node->copies, outcome.subject->volume->id, act_keyed, &outcome);
	}
	return round.open;
}
