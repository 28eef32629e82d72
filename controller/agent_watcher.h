/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_WATCH_H
#define ZCSI_CONTROLLER_WATCH_H

/*
 * The thread that keeps the roster: it reads --agents-file when that has changed, and calls the
 * roll. Agents that are new are asked who they are before any call asks them for more.
 */

#include "controller/roster.h"
#include "common/options.h"

struct agent_watcher;

struct agent_watcher_options {
	const struct option_list *agents; /* --agent: always named */
	const char *file;                 /* --agents-file; NULL: none */
	int64_t every_ms;                 /* between two roll calls */
	int64_t lost_after_ms;            /* --assume-lost; 0: never */
};

/* Loop thread. What the options point to lasts as long. *err names an endpoint of no form. */
int agent_watcher_start(struct agent_watcher **ret, struct roster *roster,
			const struct agent_watcher_options *options, struct error *err);
/* When nothing else runs any more: runs the loop until the thread has ended. */
void agent_watcher_stop(struct agent_watcher *watch);

#endif
