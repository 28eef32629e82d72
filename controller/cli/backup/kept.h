/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_BACKUP_KEPT_H
#define ZCSI_CLI_BACKUP_KEPT_H

/* The backups that nodes keep, and the tasks for them. Answers live in the arena of the cli. */

#include "controller/cli/dry_run.h"
#include "proto/copy.h"

struct kept_backup {
	const struct member *member; /* the node that has the backup */
	const BackupState *state;
	int64_t now; /* the clock of the node, in seconds since 1970 */
};

/*
 * Returns the backups of a volume on all nodes, with all snapshots, or of all volumes if id is "",
 * each with its newest snapshot; sorted by volume, then by node.
 */
struct kept_backup *kept_backups(struct cli *cli, const char *id, size_t *ret_n);
/*
 * Call RunBackup, VerifyBackup or RestoreBackup, and wait for the end of the task. Returns 1 with
 * the outcome of the task in *ret; 0 with --dry-run; or -1 with *err.
 */
int kept_task(struct cli *cli, const struct change *change, GetBackupTaskResponse **ret,
	      struct error *err);

#endif
