/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_EXPIRE_H
#define ZCSI_NODE_BACKUP_EXPIRE_H

/* When a backup is due, and which of its snapshots are to go. Times are seconds since 1970. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"
#include "proto/copy.h"

/* Returns true if a run of the backup is due at the time `now`. Runs no program. */
bool expire_is_due(const BackupState *backup, int64_t now);
/*
 * Returns the snapshots that are to go as arguments of `zfs destroy`, "backup@a,b", each with 256
 * of them at most, in the arena; *ret_n is the number of arguments. backup: with all its snapshots.
 * Runs no program.
 */
char **expire_words(struct arena *arena, const BackupState *backup, int64_t now, size_t *ret_n);
/* Destroy the snapshots that are to go. Failures are logged, and the next run tries again. */
void expire_run(struct arena *arena, const BackupState *backup);

#endif
