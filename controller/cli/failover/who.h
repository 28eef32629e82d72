/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_FAILOVER_WHO_H
#define ZCSI_CLI_FAILOVER_WHO_H

#include "controller/cli/cli.h"

/* Returns the user and the host of this command, "root@host", for records, in the arena. */
char *who_runs(struct arena *arena);

#endif
