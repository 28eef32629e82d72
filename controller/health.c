/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The health of volumes: ControllerGetVolumeHealth, ControllerListVolumeHealth.
 *
 * Invariant: a volume in a pool that cannot be read is never omitted as if it were healthy: its
 * agent fails the whole list, as in ListVolumes.
 */
#include "controller/volume.h"
#include "controller/list.h"
#include "controller/service.h"
#include "controller/request/field.h"

static VolumeHealth *health_of(struct arena *arena, const char *id,
			       const struct condition *condition)
{
	VolumeHealth *health = new_volume_health(arena);

	health->volume_id = arena_strdup(arena, id);
	if (!condition->reason)
		return health;
	VolumeHealth_VolumeHealthEntry *entry = new_volume_health_volume_health_entry(arena);
	entry->status = condition->status;
	entry->reason = arena_strdup(arena, condition->reason);
	entry->message = condition->message;
	health->n_health_statuses = 1;
	health->health_statuses = arena_alloc(arena, sizeof(*health->health_statuses));
	health->health_statuses[0] = entry;
	return health;
}

int controller_get_volume_health(struct rpc_call *call, const ControllerGetVolumeHealthRequest *req,
				 ControllerGetVolumeHealthResponse *rsp, struct error *err)
{
	struct owner owner;
	struct host host;

	if (field_check_present("volume_id", req->volume_id, err) < 0 ||
	    owner_get(call, req->volume_id, &owner, err) < 0 ||
	    host_of(call, owner.agent, &host, err) < 0)
		return -1;
	const struct condition condition =
		volume_condition(&call->arena, owner.dataset, &host, NULL);
	rsp->volume_health = health_of(&call->arena, req->volume_id, &condition);
	return 0;
}

/* Healthy volumes are left out of a page, so a page may be empty without being the last. */
int controller_list_volume_health(struct rpc_call *call,
				  const ControllerListVolumeHealthRequest *req,
				  ControllerListVolumeHealthResponse *rsp, struct error *err)
{
	const struct filter all = {.partial = agents_partial_lists(call)};
	struct page page;

	if (merge_page(call, &list_of_volumes, &all, req->max_entries, req->starting_token, &page,
		       err) < 0)
		return -1;
	rsp->entries = arena_alloc(&call->arena, page.n * sizeof(*rsp->entries));
	for (size_t i = 0; i < page.n; i++) {
		const struct listed *listed = &page.list[i];
		const struct condition condition =
			volume_condition(&call->arena, listed->entry, listed->host, listed->twin);
		if (condition.reason)
			rsp->entries[rsp->n_entries++] =
				health_of(&call->arena, listed->id, &condition);
	}
	rsp->next_token = page.next_token;
	return 0;
}
