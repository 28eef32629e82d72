/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_AGENT_WATCHER_H
#define ZCSI_CONTROLLER_AGENT_WATCHER_H

/*
 * The thread that maintains the roster: it reads --agents-file again after a change, resolves DNS
 * names of agents, and calls the roll at intervals. A new agent takes part in a roll call before
 * any RPC uses it.
 */

#include "controller/roster.h"
#include "common/options.h"

struct agent_watcher;

struct agent_watcher_options {
	const struct option_list *agents; /* values of --agent, always on the list */
	const char *file;                 /* --agents-file; NULL if not given */
	int64_t every_ms;                 /* milliseconds between two roll calls */
	int64_t lost_after_ms;            /* --assume-lost in milliseconds; 0: never */
	int64_t forget_after_ms;          /* --forget-after in milliseconds */
};

/*
 * Start the thread. Call it on the loop's thread. options->agents and options->file must outlive
 * the watcher. Returns 0 with *ret set, or -1 with *err if the directory of the file cannot be
 * watched or no thread can be started.
 */
int agent_watcher_start(struct agent_watcher **ret, struct roster *roster,
			const struct agent_watcher_options *options, struct error *err);
/* Read --agents-file again soon, even if it did not change; returns at once. Any thread. */
void agent_watcher_reread(struct agent_watcher *watch);
/*
 * End the thread and free the watcher, which may be NULL. Call it on the loop's thread when the
 * loop does not run; it runs the loop until the thread has ended.
 */
void agent_watcher_stop(struct agent_watcher *watch);

#endif
