/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The health of volumes: ControllerGetVolumeHealth, ControllerListVolumeHealth, and the volume
 * condition in other answers.
 *
 * Invariant: a volume in a pool that cannot be read is never omitted as if it were healthy: its
 * agent fails the whole list, as in ListVolumes.
 */
#include "controller/health.h"

#include "controller/list.h"
#include "controller/service.h"
#include "controller/field.h"

struct ailment {
	VolumeHealthErrorType status;
	const char *reason; /* NULL if the volume is healthy */
	char *message;
};

static struct ailment judge(struct arena *arena, const struct host *host, const struct host *twin)
{
	if (twin)
		return (struct ailment){
			VOLUME_HEALTH_ERROR_TYPE_DEGRADED, "ExistsTwice",
			arena_printf(arena,
				     "it exists twice, on nodes '%s' and '%s': calls for it fail "
				     "until one of the two is renamed ('zfs rename') or destroyed",
				     host->says->node_id, twin->says->node_id)};
	if (*host->says->problem)
		return (struct ailment){VOLUME_HEALTH_ERROR_TYPE_INACCESSIBLE, "PoolUnavailable",
					arena_strdup(arena, host->says->problem)};
	return (struct ailment){.reason = NULL};
}

VolumeCondition *volume_condition(struct arena *arena, const struct host *host,
				  const struct host *twin)
{
	VolumeCondition *condition = new_volume_condition(arena);
	const struct ailment ailment = judge(arena, host, twin);

	condition->abnormal = ailment.reason != NULL;
	condition->message =
		ailment.reason ? ailment.message
			       : arena_strdup(arena, "the dataset exists and its pool is ready");
	return condition;
}

static VolumeHealth *health_of(struct arena *arena, const char *id, const struct ailment *ailment)
{
	VolumeHealth *health = new_volume_health(arena);

	health->volume_id = arena_strdup(arena, id);
	if (!ailment->reason)
		return health;
	VolumeHealth_VolumeHealthEntry *entry = new_volume_health_volume_health_entry(arena);
	entry->status = ailment->status;
	entry->reason = arena_strdup(arena, ailment->reason);
	entry->message = ailment->message;
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
	const struct ailment ailment = judge(&call->arena, &host, NULL);
	rsp->volume_health = health_of(&call->arena, req->volume_id, &ailment);
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
		const struct ailment ailment = judge(&call->arena, listed->host, listed->twin);
		if (ailment.reason)
			rsp->entries[rsp->n_entries++] =
				health_of(&call->arena, listed->id, &ailment);
	}
	rsp->next_token = page.next_token;
	return 0;
}
