/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_MEND_EMPTY_H
#define ZCSI_CLI_MEND_EMPTY_H

#include "controller/cli/cli.h"

/*
 * Carry out zcsi trash empty: destroy what is in the trash, or only the volumes with this id or
 * name. Returns 0, or -1 with *err.
 */
int empty_trash(struct cli *cli, const char *name, struct error *err);

#endif
