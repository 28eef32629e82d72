/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The health of volumes: ControllerGetVolumeHealth, ControllerListVolumeHealth.
 *
 * Invariant: without --partial-lists, a volume in a pool that cannot be read is never left out as
 * if it were healthy: the whole list fails, as in ListVolumes.
 */
#include "controller/volume.h"
#include "controller/list.h"
#include "controller/service.h"
#include "controller/request/field.h"

static VolumeHealth *health_of(struct arena *arena, const char *id,
			       const struct conditions *conditions)
{
	VolumeHealth *health = new_volume_health(arena);

	health->volume_id = arena_strdup(arena, id);
	health->health_statuses =
		arena_alloc(arena, CONDITIONS_MAX * sizeof(*health->health_statuses));
	for (size_t i = 0; i < conditions->n; i++) {
		VolumeHealth_VolumeHealthEntry *entry =
			new_volume_health_volume_health_entry(arena);
		entry->status = conditions->list[i].status;
		entry->reason = arena_strdup(arena, conditions->list[i].reason);
		entry->message = conditions->list[i].message;
		health->health_statuses[health->n_health_statuses++] = entry;
	}
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
	const struct conditions conditions =
		volume_conditions(&call->arena, &(struct volume_facts){.dataset = owner.dataset,
								       .host = &host,
								       .said = agents_said(call)});
	rsp->volume_health = health_of(&call->arena, req->volume_id, &conditions);
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
	const struct said said = agents_said(call);
	rsp->entries = arena_alloc(&call->arena, page.n * sizeof(*rsp->entries));
	for (size_t i = 0; i < page.n; i++) {
		const struct listed *listed = &page.list[i];
		const struct conditions conditions = volume_conditions(
			&call->arena, &(struct volume_facts){listed->entry, listed->host,
							     listed->other_host, said});
		if (conditions.n)
			rsp->entries[rsp->n_entries++] =
				health_of(&call->arena, listed->id, &conditions);
	}
	rsp->next_token = page.next_token;
	return 0;
}
