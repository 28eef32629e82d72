/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROLL_HOSTS_H
#define ZCSI_CONTROLLER_ROLL_HOSTS_H

/*
 * The part of the roll call by which what a controller knows outlives it: all agents keep which
 * hosts there are, and a few keep the names of each host (roll_kept.h). Each function blocks until
 * the agents have answered.
 */

#include "controller/roster.h"

/*
 * Read the hosts that agents keep and that are not known here, and the names of hosts that are off
 * the list. After it such a host is absent.
 */
void roll_hosts_learn(struct roster *roster);
/* Give the agents that are up what they lack: hosts, and names to keep. */
void roll_hosts_tell(struct roster *roster);

#endif
