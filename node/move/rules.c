/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The rules by which a volume gets another owner.
 *
 * Invariant: at most one node is permitted to take the volume at an epoch. No node takes it at an
 * epoch below that of its copy, or at one at which it has given the volume up.
 */
#include "node/move/rules.h"

#include <inttypes.h>
#include <string.h>

int rules_fail_written(const char *our_id, const struct place *place,
		       const struct place_snapshot *end, struct error *err)
{
	return fail(err, ERR_FAILED_PRECONDITION,
		    "'%s' was written to after its last snapshot '%s'; if that data is not needed, "
		    "run 'zfs rollback %s' on node '%s'",
		    place->name, end->name, end->name, our_id);
}

int rules_given_up(const char *our_id, const struct place *place, const GetMoveRequest *req,
		   const struct place_snapshot **ret, struct error *err)
{
	*ret = place_marked(place);
	if (place->role == PLACE_PRIMARY)
		return fail(err, ERR_FAILED_PRECONDITION, "node '%s' has not given volume '%s' up",
			    our_id, req->id);
	if (place->role == PLACE_NONE || !*ret)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has no record that volume '%s' moves", our_id, req->id);
	if (strcmp((*ret)->to, req->node_id) != 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has given volume '%s' up for node '%s', not for '%s'",
			    our_id, req->id, (*ret)->to, req->node_id);
	return place_written_after(place, *ret) ? rules_fail_written(our_id, place, *ret, err) : 0;
}

int rules_usable(const struct place *place, const struct place_snapshot *end, struct error *err)
{
	if (place_written_after(place, end) > 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' was mounted and written to by hand; if that is not needed, run "
			    "'zfs rollback %s'",
			    place->name, end->name);
	if (place->foreign_key || place->children)
		return fail(err, ERR_FAILED_PRECONDITION, "'%s' %s", place->name,
			    place->children ? "has datasets below it"
					    : "has the encryption key of another dataset");
	return 0;
}

int rules_take(const char *our_id, const struct place *place, const PromoteRequest *req,
	       struct error *err)
{
	const struct place_snapshot *end = place_snapshot(place, req->guid);
	const struct place_snapshot *given_up = place_marked(place);
	int64_t epoch = given_up ? given_up->epoch : place->epoch;

	if (place->role == PLACE_NONE)
		return fail(err, ERR_FAILED_PRECONDITION, "node '%s' has no copy of it", our_id);
	if (strcmp(place->members.lineage, req->lineage) != 0)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is of another volume that had this name", place->name);
	if (!members_have(&place->members, req->from_node_id) ||
	    strcmp(req->from_node_id, our_id) == 0)
		return fail(err, ERR_PERMISSION_DENIED, "'%s' is no copy of a volume of node '%s'",
			    place->name, req->from_node_id);
	if (place->role == PLACE_PRIMARY || epoch > req->epoch || (given_up && epoch == req->epoch))
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is of epoch %" PRId64 " already, and this is a move to epoch "
			    "%" PRId64,
			    place->name, epoch, req->epoch);
	if (place->token || !end)
		return fail(err, ERR_FAILED_PRECONDITION, "'%s' has not all data: %s", place->name,
			    end ? "part of a stream is left" : "the last snapshot is missing");
	return rules_usable(place, end, err);
}
