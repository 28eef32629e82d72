/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Settling a volume that two agents have.
 *
 * Invariant: the agent that gives its volume up is asked only after the other one has recorded that
 * its own counts as used. No agent gives up a volume that counts as used, so one of the two stays,
 * also if two controllers choose differently. If a volume was taken over from a lost host, the one
 * with the higher epoch is kept; the host that was lost gives up its own when it finds out
 * about the takeover.
 */
#include "controller/duplicate.h"

#include <string.h>

#include "common/log.h"
#include "controller/agent_methods.h"
#include "controller/roster.h"

struct duplicate {
	const struct answer *answer;
	Dataset *dataset;
	const char *node; /* the node id, as of the last roll call; "" before the first */
};

static struct duplicate duplicate_of(struct rpc_call *call, const struct answer *answer)
{
	const GetDatasetResponse *response = answer->response;
	struct roster *roster = agents_roster(call);
	scoped_lock(&roster->lock);
	const char *node = answer->agent->state.node_id;

	return (struct duplicate){.answer = answer,
				  .dataset = response->dataset,
				  .node = arena_strdup(&call->arena, node ? node : "")};
}

/* Returns true if `one` is to be kept: the volume with data, else the older one. */
static bool is_kept(const struct duplicate *one, const struct duplicate *other)
{
	if (one->dataset->maybe_blank != other->dataset->maybe_blank)
		return other->dataset->maybe_blank;
	if (one->dataset->creation != other->dataset->creation)
		return one->dataset->creation < other->dataset->creation;
	return strcmp(one->node, other->node) < 0;
}

static int ask(struct rpc_call *call, const struct duplicate *duplicate, const char *keeper,
	       struct error *err)
{
	SettleDatasetRequest *request = new_settle_dataset_request(&call->arena);
	SettleDatasetResponse *response;

	request->id = duplicate->dataset->id;
	request->guid = duplicate->dataset->guid;
	request->keeper = arena_strdup(&call->arena, keeper);
	return agent_settle_dataset(call, duplicate->answer->agent, request, &response, err);
}

/*
 * Returns the one of both that took the volume over from the other, as its higher epoch shows; NULL
 * if neither did.
 */
static const struct duplicate *heir_of(const struct duplicate both[2])
{
	const Dataset *one = both[0].dataset, *other = both[1].dataset;

	if (!*one->lineage || strcmp(one->lineage, other->lineage) != 0 ||
	    one->epoch == other->epoch)
		return NULL;
	return &both[one->epoch < other->epoch];
}

const struct answer *duplicate_settle(struct rpc_call *call, const struct answer *one,
				      const struct answer *other)
{
	const struct duplicate both[] = {duplicate_of(call, one), duplicate_of(call, other)};
	struct error err;

	if (!both[0].dataset || !both[1].dataset || !*both[0].node || !*both[1].node)
		return NULL;
	const struct duplicate *heir = heir_of(both);
	if (heir)
		return heir->answer;
	const struct duplicate *keeper = is_kept(&both[0], &both[1]) ? &both[0] : &both[1];
	const struct duplicate *loser = &both[keeper == &both[0]];
	if (!loser->dataset->maybe_blank)
		return NULL;
	if (ask(call, keeper, "", &err) < 0 || ask(call, loser, keeper->node, &err) < 0) {
		log_warn("volume is on two hosts, cannot choose one",
			 log_str("volume", keeper->dataset->id), log_str("node", keeper->node),
			 log_str("other", loser->node), log_str("error", err.text));
		return NULL;
	}
	log_warn("unused duplicate of a volume is in the trash",
		 log_str("volume", keeper->dataset->id), log_str("node", keeper->node),
		 log_str("trash_of", loser->node));
	keeper->dataset->maybe_blank = false;
	return keeper->answer;
}
