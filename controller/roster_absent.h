/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROSTER_ABSENT_H
#define ZCSI_CONTROLLER_ROSTER_ABSENT_H

/* The names that agents have, and had when they left the list (absent.h). Any thread. */

#include "common/error.h"
#include "common/volume/name.h"
#include "controller/roster.h"

/* Add a name to those of an agent, before the agent is asked to create it. */
void roster_add_name(struct roster *roster, const struct agent *agent, enum name_kind kind,
		     const char *name);
/* An object that the agents of a set do not have. */
struct missing {
	const struct agent_set *set;
	enum name_kind kind;
	const char *name;
	const char *what; /* "volume 'v'", for the error texts */
};

/*
 * ERR_UNAVAILABLE if a host off the list had the name, or may have had it, or an agent on the list
 * is not in the set. A host off the list is forgotten when it is back, or by roster_forget.
 */
int roster_check_missing(struct roster *roster, const struct missing *missing, struct error *err);
/* Returns an agent of the list that is not lost and not in the set, or NULL. With the lock. */
const struct agent *roster_beside(const struct roster *roster, const struct agent_set *set);
/* ERR_UNAVAILABLE if the agent of this node has left the list. */
int roster_check_absent_node(struct roster *roster, const char *node_id, struct error *err);
/*
 * ERR_UNAVAILABLE, with `what`, if it is not known yet which hosts and names this agent, which has
 * just answered, keeps (roll_hosts.h).
 */
int roster_check_hosts(struct roster *roster, const struct agent *agent, const char *what,
		       struct error *err);

/* Note that a host has left the list. With the roster's lock. */
void roster_note_left(struct roster *roster, const struct absent *host);
/*
 * Compare the known hosts with the list of agents. The hosts of agents that are on the list and up
 * become known. A known host without an agent on the list becomes absent, unless it was forgotten,
 * or its pool is at another node now. The hosts of --forget are forgotten.
 */
void roster_settle(struct roster *roster);
/*
 * Forget the hosts whose agent left the list more than after_ms milliseconds ago, unless another
 * controller has it on its list, and up.
 */
void roster_forget(struct roster *roster, int64_t after_ms);
/*
 * Returns "it is node 'n2', down since 2026-11-28T10:27:43Z; " for the text of an error, in the
 * arena. What is not known of the agent is left out.
 */
const char *roster_node_text(struct roster *roster, const struct agent *agent, struct arena *arena);

#endif
