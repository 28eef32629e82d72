/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_MEND_TRASH_H
#define ZCSI_CLI_MEND_TRASH_H

/* The deleted volumes in the trash of all nodes. */

#include "controller/cli/cli.h"

/*
 * Returns the deleted volumes of this id or with this name in the trash, or all if `name` is NULL.
 * The errors of agents are in the members.
 */
const struct owned *trash_find(struct cli *cli, const char *name, size_t *ret_n);

#endif
