/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Settling a volume that two agents have.
 *
 * Invariant: the agent that gives its volume up is asked only after the other one has recorded that
 * its own counts as used. No agent gives up a volume that counts as used, so one of the two stays,
 * also if two controllers choose differently. If a volume was taken over from a lost host, the one
 * with the higher epoch is kept; the host that was lost gives up its own when it learns of the
 * takeover.
 */
#include "controller/duplicate.h"

#include <string.h>

#include "common/log.h"
#include "controller/agent_methods.h"
#include "controller/roster.h"

struct twin {
	const struct answer *answer;
	Dataset *dataset;
	const char *node; /* the node id, as of the last roll call; "" before the first */
};

static struct twin twin_of(struct rpc_call *call, const struct answer *answer)
{
	const GetDatasetResponse *response = answer->response;
	struct roster *roster = agents_roster(call);
	scoped_lock(&roster->lock);
	const char *node = answer->agent->state.node_id;

	return (struct twin){.answer = answer,
			     .dataset = response->dataset,
			     .node = arena_strdup(&call->arena, node ? node : "")};
}

/* Returns true if `one` is to be kept: the volume with data, else the older one. */
static bool is_kept(const struct twin *one, const struct twin *other)
{
	if (one->dataset->maybe_blank != other->dataset->maybe_blank)
		return other->dataset->maybe_blank;
	if (one->dataset->creation != other->dataset->creation)
		return one->dataset->creation < other->dataset->creation;
	return strcmp(one->node, other->node) < 0;
}

static int ask(struct rpc_call *call, const struct twin *twin, const char *keeper,
	       struct error *err)
{
	SettleDatasetRequest *request = new_settle_dataset_request(&call->arena);
	SettleDatasetResponse *response;

	request->id = twin->dataset->id;
	request->guid = twin->dataset->guid;
	request->keeper = arena_strdup(&call->arena, keeper);
	return agent_settle_dataset(call, twin->answer->agent, request, &response, err);
}

/*
 * Returns the twin that took the volume over from the other one, which its higher epoch shows; NULL
 * if neither did.
 */
static const struct twin *heir_of(const struct twin twins[2])
{
	const Dataset *one = twins[0].dataset, *other = twins[1].dataset;

	if (!*one->lineage || strcmp(one->lineage, other->lineage) != 0 ||
	    one->epoch == other->epoch)
		return NULL;
	return &twins[one->epoch < other->epoch];
}

const struct answer *duplicate_settle(struct rpc_call *call, const struct answer *one,
				      const struct answer *other)
{
	const struct twin twins[] = {twin_of(call, one), twin_of(call, other)};
	struct error err;

	if (!twins[0].dataset || !twins[1].dataset || !*twins[0].node || !*twins[1].node)
		return NULL;
	const struct twin *heir = heir_of(twins);
	if (heir)
		return heir->answer;
	const struct twin *keeper = is_kept(&twins[0], &twins[1]) ? &twins[0] : &twins[1];
	const struct twin *loser = &twins[keeper == &twins[0]];
	if (!loser->dataset->maybe_blank)
		return NULL;
	if (ask(call, keeper, "", &err) < 0 || ask(call, loser, keeper->node, &err) < 0) {
		log_warn("volume exists twice, and stays so",
			 log_str("volume", keeper->dataset->id), log_str("node", keeper->node),
			 log_str("other", loser->node), log_str("error", err.text));
		return NULL;
	}
	log_warn("volume existed twice: the one that was never used is in the trash",
		 log_str("volume", keeper->dataset->id), log_str("node", keeper->node),
		 log_str("trash_of", loser->node));
	keeper->dataset->maybe_blank = false;
	return keeper->answer;
}
