/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_CHANGE_SNAPSHOT_H
#define ZCSI_CLI_CHANGE_SNAPSHOT_H

#include "controller/cli/cli.h"

/*
 * Take a snapshot with a name that no other caller asks for: the prefix, the time and a random
 * number. Returns 0 with *ret in the arena, or -1 with *err.
 */
int snapshot_take_new(struct cli *cli, const struct owned *volume, const char *prefix,
		      DatasetSnapshot **ret, struct error *err);

#endif
