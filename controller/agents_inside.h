/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENTS_INSIDE_H
#define ZCSI_CONTROLLER_AGENTS_INSIDE_H

/* The members of struct agents, for agents.c and agents_ask.c. */

#include <pthread.h>
#include <stdint.h>

#include "controller/agent_watcher.h"
#include "controller/agents.h"
#include "controller/roster.h"

#define OWNER_CACHE_SLOTS 4096

/*
 * Which agent had a volume when it was last looked up, so that most lookups ask one agent only. A
 * direct-mapped cache: each id hashes to one slot, and the latest entry replaces the older one. An
 * entry is used only in its epoch (roster.h), and if its agent confirms it: when an agent is added
 * or comes up, that agent may have the volume too. All zero bytes are an empty cache.
 */
struct owner_cache {
	pthread_mutex_t lock;
	struct cached_owner {
		uint64_t id; /* hash of the volume's id */
		unsigned epoch;
		const struct agent *agent; /* may have been freed: only compare the pointer */
	} list[OWNER_CACHE_SLOTS];
};

struct agents {
	struct agents_options options;
	struct roster roster;
	struct owner_cache owner_cache;
	struct client *node;         /* the zcsi-node of --node; or NULL */
	struct agent_watcher *watch; /* NULL before agents_start */
};

#endif
