/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_VERIFY_H
#define ZCSI_NODE_BACKUP_VERIFY_H

#include "common/error.h"
#include "node/host/node.h"
#include "node/stream/rounds.h"

/*
 * Read all data of the newest snapshot of a backup, as a restore would, and record the time. A stop
 * of the caller's thread, whose rounds are given, interrupts it. Returns 0, or -1 with *err. Blocks
 * for hours: not on the loop's thread.
 */
int verify_run(const struct node *node, struct rounds *rounds, const char *id, struct error *err);

#endif
