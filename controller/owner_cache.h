/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_RECALL_H
#define ZCSI_CONTROLLER_RECALL_H

/*
 * A cache of the agents that had a volume when it was last looked for, so that most lookups ask one
 * agent. An entry is void as soon as an agent comes or comes back, since that one might have the
 * volume too. The agent confirms an entry before it is used. Any thread; all zeros is the empty
 * cache.
 */

#include <pthread.h>
#include <stdint.h>

#define RECALL_MAX 4096

struct agent;

struct owner_cache {
	pthread_mutex_t lock;
	struct memory {
		uint64_t id; /* its hash */
		unsigned epoch;
		const struct agent *agent;
	} list[RECALL_MAX];
};

/* NULL: nothing is known. The agent may be gone: it is only to be compared. */
const struct agent *owner_cache_get(struct owner_cache *owner_cache, const char *id,
				    unsigned epoch);
void owner_cache_put(struct owner_cache *owner_cache, const char *id, unsigned epoch,
		     const struct agent *agent);

#endif
