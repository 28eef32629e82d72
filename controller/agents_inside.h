/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENTS_INSIDE_H
#define ZCSI_CONTROLLER_AGENTS_INSIDE_H

/* The members of the agents, for agents.c and agents_ask.c. */

#include "controller/agent_watcher.h"
#include "controller/agents.h"
#include "controller/owner_cache.h"
#include "controller/roster.h"

struct agents {
	struct agents_options options;
	struct roster roster;
	struct owner_cache owner_cache;
	struct agent_watcher *watch; /* NULL before agents_start */
};

#endif
