/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_FAILOVER_ASIDE_MOUNT_H
#define ZCSI_CLI_FAILOVER_ASIDE_MOUNT_H

#include "controller/cli/failover/aside.h"

/*
 * Mount what this host has put aside read-only at an empty folder, and print the commands that end
 * the mount. Returns 0, or -1 with *err.
 */
int aside_mount(struct cli *cli, const struct aside *aside, const char *folder, struct error *err);

#endif
