/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROLL_HOSTS_H
#define ZCSI_CONTROLLER_ROLL_HOSTS_H

/*
 * The part of the roll call that stores with the agents what a controller needs after a restart:
 * all agents keep the list of hosts, and a few keep the names of each host (roll_kept.h). Each
 * function blocks until the agents have answered.
 */

#include "controller/roster.h"

/*
 * Read from the agents the hosts that the roster lacks, and the names of hosts that are off the
 * list. Afterwards each host that is off the list has a record in roster->absent.
 */
void roll_hosts_read(struct roster *roster);
/* Send the agents that are up the hosts that they lack, and the names that they are to keep. */
void roll_hosts_send(struct roster *roster);

#endif
