/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_OWNER_CACHE_H
#define ZCSI_CONTROLLER_OWNER_CACHE_H

/*
 * A cache of which agent had a volume when it was last looked up, so that most lookups ask one
 * agent only. All entries become invalid when an agent is added or comes up, because that agent may
 * have the volume too. An entry is used only if its agent confirms it. Any thread. A cache of all
 * zero bytes is empty.
 */

#include <pthread.h>
#include <stdint.h>

#define OWNER_CACHE_SLOTS 4096

struct agent;

struct owner_cache {
	pthread_mutex_t lock;
	struct cached_owner {
		uint64_t id; /* hash of the volume's id */
		unsigned epoch;
		const struct agent *agent;
	} list[OWNER_CACHE_SLOTS];
};

/*
 * Returns the agent recorded for the volume in this epoch (roster.h), or NULL. The agent may have
 * been freed: compare the pointer, and do not dereference it.
 */
const struct agent *owner_cache_get(struct owner_cache *owner_cache, const char *id,
				    unsigned epoch);
/* Record the agent that has the volume in this epoch. */
void owner_cache_put(struct owner_cache *owner_cache, const char *id, unsigned epoch,
		     const struct agent *agent);

#endif
