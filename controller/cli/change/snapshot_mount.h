/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_CHANGE_SNAPSHOT_MOUNT_H
#define ZCSI_CLI_CHANGE_SNAPSHOT_MOUNT_H

#include "controller/cli/cli.h"

/*
 * Mount the snapshot with this id read-only at an empty folder of this host. Returns 0, or -1 with
 * *err.
 */
int snapshot_mount(struct cli *cli, const char *id, const char *folder, struct error *err);

#endif
