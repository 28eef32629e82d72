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
/*
 * ERR_UNAVAILABLE, with `what`, if a host had the name whose agent has left the list since. It is
 * forgotten when it is back, or by roster_forget.
 */
int roster_check_absent(struct roster *roster, enum name_kind kind, const char *name,
			const char *what, struct error *err);
/* ERR_UNAVAILABLE if the agent of this node has left the list. */
int roster_check_absent_node(struct roster *roster, const char *node_id, struct error *err);
/* Forget the hosts whose agent left the list more than after_ms milliseconds ago. */
void roster_forget(struct roster *roster, int64_t after_ms);

#endif
