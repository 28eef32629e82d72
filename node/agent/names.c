/* SPDX-License-Identifier: MPL-2.0 */
/*
 * ListNames of zcsi.v1.Agent.
 *
 * Invariant: a name that is missing in the pages, since it was added while they were read, makes
 * the next answer to GetHost differ from the first page.
 */
#include "node/agent/agent.h"
#include "node/catalog/names.h"
#include "node/service.h"

#define HASHES_MAX 65536 /* in one answer: half a megabyte */

int list_names(struct rpc_call *call, const ListNamesRequest *req, ListNamesResponse *rsp,
	       struct error *err)
{
	struct node *node = call->app;
	struct name_list list;
	size_t from = 0;

	if (!node->catalog)
		return 0;
	if (catalog_names(node->catalog, call->deadline, &call->arena, &list, err) < 0)
		return -1;
	while (req->after && from < list.n && list.hashes[from] <= req->after)
		from++;
	rsp->hashes = list.hashes + from;
	rsp->n_hashes = list.n - from < HASHES_MAX ? list.n - from : HASHES_MAX;
	rsp->more = rsp->n_hashes < list.n - from;
	rsp->names = list.version;
	return 0;
}
