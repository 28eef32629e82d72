/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_CHANGE_SNAPSHOT_FIND_H
#define ZCSI_CLI_CHANGE_SNAPSHOT_FIND_H

#include "controller/cli/cli.h"

/*
 * *ret is the agent that has the snapshot with this id, and *ret_snapshot the snapshot. If several
 * agents have it, --node chooses one of them. Returns 0, or -1 with *err.
 */
int snapshot_find(struct cli *cli, const char *id, const struct member **ret,
		  const DatasetSnapshot **ret_snapshot, struct error *err);

#endif
