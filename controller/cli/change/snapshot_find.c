/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Finding the agent that has a snapshot.
 *
 * Invariant: a snapshot of which two agents have one each is found only with --node. An agent that
 * did not answer is reported only if no other agent has the snapshot.
 */
#include "controller/cli/change/snapshot_find.h"

#include <string.h>

int snapshot_find(struct cli *cli, const char *id, const struct member **ret,
		  const DatasetSnapshot **ret_snapshot, struct error *err)
{
	GetDatasetSnapshotRequest *request = new_get_dataset_snapshot_request(&cli->arena);
	const struct member *silent = NULL;

	*ret = NULL;
	request->id = arena_strdup(&cli->arena, id);
	const struct reply *replies =
		fleet_ask(cli->fleet, &cli->arena, "GetDatasetSnapshot", &request->base);
	for (size_t i = 0; i < cli->n_members; i++) {
		const struct member *member = &cli->members[i];
		bool has_pool = !member->host || *member->host->dataset;
		if (cli->node && strcmp(cli->node, member->node) != 0)
			continue;
		if (!replies[i].response && has_pool && replies[i].error.code != ERR_NOT_FOUND) {
			silent = member;
			*err = replies[i].error;
		}
		if (!replies[i].response)
			continue;
		if (*ret)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "snapshot '%s' is on '%s' and on '%s': choose one with --node",
				    id, (*ret)->node, member->node);
		*ret = member;
		*ret_snapshot = ((const GetDatasetSnapshotResponse *)replies[i].response)->snapshot;
	}
	if (*ret)
		return 0;
	if (silent)
		return fail_context(err, "'%s' did not report whether it has snapshot '%s'",
				    silent->node, id);
	return fail(err, ERR_NOT_FOUND,
		    "no node has a snapshot '%s'; 'zcsi snapshots' prints those that there are",
		    id);
}
