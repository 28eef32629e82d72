/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ROLL_KEPT_H
#define ZCSI_CONTROLLER_ROLL_KEPT_H

/* The part of the roll call about the names that agents keep of other hosts. */

#include "controller/roster.h"

/* Read the names of absent hosts from the agents of the set, after one of them came up. */
void roll_kept_read(struct roster *roster, struct agent_set *set);
/* Give the names of each host to the agents of the set that keep them, if they have changed. */
void roll_kept_send(struct roster *roster, struct agent_set *set);

#endif
