/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Calls to the zcsi-node of this host.
 *
 * Invariant: no call lasts beyond the deadline, because Nomad kills a plugin that takes a minute.
 * A volume is said to be missing only if zcsi-node has listed all volumes of its pool.
 */
#include "controller/host_volume/local.h"

#include <string.h>

#include "common/clock.h"
#include "controller/host_volume/request.h"
#include "controller/request/parameters.h"

int local_meet(struct local *local, struct error *err)
{
	size_t n;

	fleet_limit(local->fleet, time_left_ms(local->deadline));
	local->self = fleet_members(local->fleet, local->arena, &n);
	if (!local->self->host)
		return fail(err, local->self->error.code,
			    "%s; start zcsi-node on this host, with '%s' as an --agent-endpoint",
			    local->self->error.text, local->self->endpoint);
	if (!*local->self->host->dataset || local->self->host->by_nfs)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "node '%s' has no pool of its own: start its zcsi-node with --dataset "
			    "POOL/PARENT",
			    local->self->node);
	return 0;
}

int local_ask(struct local *local, const char *method, const ProtobufCMessage *request,
	      void *ret_response, struct error *err)
{
	fleet_limit(local->fleet, time_left_ms(local->deadline));
	return client_finish(fleet_begin(local->fleet, local->arena, local->self->at, method,
					 request),
			     ret_response, err);
}

static const Dataset *find_in(struct arena *arena, const ListDatasetsResponse *page, const char *id)
{
	for (size_t i = 0; i < page->n_datasets; i++) {
		const char *text = page->datasets[i]->parameters;
		const char *value =
			strstr(text, id) ? parameters_value(arena, text, ID_PARAMETER) : NULL;
		if (value && strcmp(value, id) == 0)
			return page->datasets[i];
	}
	return NULL;
}

int local_find(struct local *local, const char *id, const Dataset **ret, struct error *err)
{
	ListDatasetsRequest *request = new_list_datasets_request(local->arena);
	ListDatasetsResponse *page;

	for (*ret = NULL; !*ret;) {
		if (local_ask(local, "ListDatasets", &request->base, &page, err) < 0)
			return -1;
		*ret = find_in(local->arena, page, id);
		if (!page->more || !page->n_datasets)
			return 0;
		request->after = page->datasets[page->n_datasets - 1]->id;
	}
	return 0;
}
