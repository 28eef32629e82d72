/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_MOVE_H
#define ZCSI_CLI_MOVE_H

/* The moves of volumes that have not ended, as the agents know them. */

#include "controller/cli/cli.h"
#include "proto/agent.h"

/* Returns those of all agents. */
const MoveState *const *move_list(struct cli *cli, size_t *ret_n);
/* Returns "moving to n2", and what keeps the move from ending. */
const char *move_text(struct cli *cli, const MoveState *move);

#endif
