/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The consequences of the answers of a volume's members.
 *
 * Invariant: a higher epoch counts from whichever member it comes. This host is confirmed only if
 * so many members have answered that none of the others can have taken the volume over.
 */
#include "node/owner/outcome.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "node/catalog/change.h"
#include "node/copy/history.h"
#include "node/copy/pusher.h"
#include "node/export/exports.h"
#include "node/host/moves.h"
#include "node/host/owner.h"
#include "node/owner/aside.h"
#include "node/stream/copies.h"
#include "node/stream/keyed.h"

#define FIND_MS 10000 /* for a volume in the catalog */

struct follower {
	const struct node *node;
	struct arena *arena;
	const struct outcome *outcome;
	bool settled;
};

/*
 * Check that a majority of the members has confirmed this host. A member whose copy has no bookmark
 * here is no voter if it has answered: its copy may never have been complete, and a member that the
 * others have no record of is not asked in a failover. If it has not answered, it stays a voter,
 * because it may have taken the volume over: a complete copy too has no bookmark just after a move,
 * and while its bookmark is replaced. The answer of a member that was declared lost does not count.
 */
static int check_majority(const struct follower *follower, const struct dataset *volume,
			  const struct ownership *ownership, struct error *err)
{
	struct arena *arena = follower->arena;
	const struct outcome *outcome = follower->outcome;
	struct members members, voters;
	struct history history;
	size_t heard = 0;

	if (!members_parse(arena, volume->members, &members) ||
	    history_read(arena, volume->name, &history, err) < 0)
		return -1;
	voters = members;
	for (size_t i = 0; i < members.n; i++) {
		const char *other = members.nodes[i];
		if (strcmp(other, follower->node->id) == 0 ||
		    !members_have(&outcome->answered, other))
			continue;
		if (!history_named(&history, history_bookmark(arena, volume->name, other)))
			members_remove(&voters, other);
		else if (!ownership_has_lost(ownership, other))
			heard += members_have(&outcome->heard, other);
	}
	if (ownership_is_majority(ownership, &voters, heard))
		return 0;
	return fail(err, ERR_UNAVAILABLE, "%zu of %zu nodes with copies have answered", heard,
		    voters.n - 1);
}

/* Record the later owner that the members have named, if there is one. */
static int pass(const struct follower *follower, struct dataset *volume,
		struct ownership *ownership, struct error *err)
{
	const struct ownership *passed = &follower->outcome->passed;

	if (passed->newer_epoch <= volume->epoch ||
	    !ownership_pass(ownership, passed->newer, passed->newer_epoch))
		return 0;
	log_warn("volume is superseded", log_str("volume", volume->id),
		 log_str("node", passed->newer));
	return owner_record(follower->node, follower->arena, volume, ownership, err);
}

/* Returns true if a member has answered that was declared lost. */
static bool has_returned(const struct ownership *ownership, const struct outcome *outcome)
{
	for (size_t i = 0; i < ownership->n_lost; i++)
		if (members_have(&outcome->answered, ownership->lost[i]))
			return true;
	return false;
}

/* Record that the members which have answered are not lost any more, and push to them. */
static int count_again(const struct follower *follower, struct dataset *volume,
		       struct ownership *ownership, struct error *err)
{
	const struct members *answered = &follower->outcome->answered;
	const struct node *node = follower->node;

	if (!has_returned(ownership, follower->outcome))
		return 0;
	for (size_t i = 0; i < answered->n; i++)
		ownership_find(ownership, answered->nodes[i]);
	if (owner_record(node, follower->arena, volume, ownership, err) < 0)
		return -1;
	log_info("nodes that were declared lost answer, and count as members again",
		 log_str("volume", volume->id));
	pusher_push(node->copies->pusher, volume->id);
	return 0;
}

static int follow(const struct follower *follower, struct dataset *volume, struct error *err)
{
	const struct node *node = follower->node;
	struct ownership ownership = ownership_parse(follower->arena, volume->owner);

	if (pass(follower, volume, &ownership, err) < 0)
		return -1;
	if (ownership.newer_epoch)
		return aside_step(node, follower->arena, volume, err);
	if (owner_is_confirmed(node, volume))
		return count_again(follower, volume, &ownership, err);
	if (check_majority(follower, volume, &ownership, err) < 0 ||
	    owner_confirm(node, follower->arena, volume, err) < 0)
		return -1;
	return exports_apply(follower->arena, node, volume, now_ms() + FIND_MS, err);
}

static void run(void *arg)
{
	struct follower *follower = arg;
	const char *id = follower->outcome->id;
	struct dataset *volume;
	struct error err;

	/* Do nothing for a volume that is moving, or has moved, to another node. */
	if (moves_check(follower->node->moves, id, &err) < 0 ||
	    catalog_get(follower->node->catalog, now_ms() + FIND_MS, follower->arena, id, &volume,
			&err) < 0)
		return;
	follower->settled = follow(follower, volume, &err) == 0;
	if (!follower->settled)
		log_debug("ownership of a volume is unsettled", log_str("volume", id),
			  log_str("error", err.text));
}

bool outcome_is_settled(const struct node *node, struct arena *arena, const struct dataset *volume,
			const struct outcome *outcome)
{
	const struct ownership ownership = ownership_parse(arena, volume->owner);

	return !outcome->passed.newer_epoch && owner_is_confirmed(node, volume) &&
	       !has_returned(&ownership, outcome);
}

bool outcome_follow(const struct node *node, struct arena *arena, const struct outcome *outcome)
{
	struct follower follower = {node, arena, outcome, true};

	keyed_run(node->copies, outcome->id, run, &follower);
	return follower.settled;
}
