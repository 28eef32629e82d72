/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The condition of a volume: what keeps it from being used, if anything.
 *
 * Invariant: the condition follows from the answers of the hosts alone. No host is asked for it.
 */
#include "controller/condition.h"

struct condition condition_of(struct arena *arena, const struct host *host, const struct host *twin)
{
	if (twin)
		return (struct condition){
			VOLUME_HEALTH_ERROR_TYPE_DEGRADED, "ExistsTwice",
			arena_printf(arena,
				     "it exists twice, on nodes '%s' and '%s': calls for it fail "
				     "until one of the two is renamed ('zfs rename') or destroyed",
				     host->says->node_id, twin->says->node_id)};
	if (*host->says->problem)
		return (struct condition){VOLUME_HEALTH_ERROR_TYPE_INACCESSIBLE, "PoolUnavailable",
					  arena_strdup(arena, host->says->problem)};
	return (struct condition){.reason = NULL};
}

VolumeCondition *condition_message(struct arena *arena, const struct host *host,
				   const struct host *twin)
{
	VolumeCondition *message = new_volume_condition(arena);
	const struct condition condition = condition_of(arena, host, twin);

	message->abnormal = condition.reason != NULL;
	message->message =
		condition.reason ? condition.message
				 : arena_strdup(arena, "the dataset exists and its pool is ready");
	return message;
}
