/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_BACKUP_RESTORE_H
#define ZCSI_CLI_BACKUP_RESTORE_H

#include "controller/cli/backup/kept.h"

/*
 * Make a volume of a snapshot of a backup: "VOLUME@SNAPSHOT", or "VOLUME" for the newest one.
 * Returns 0, or -1 with *err.
 */
int restore_backup(struct cli *cli, const char *what, struct error *err);

/*
 * Find "VOLUME" or "VOLUME@SNAPSHOT" in n backups, on the node if that is not NULL. A snapshot is
 * named by its name, or by a prefix that no other snapshot's name has. *ret_guid is the guid of
 * the snapshot. Returns the backup, or NULL with *err. For tests.
 */
const struct kept_backup *restore_find(const struct kept_backup *list, size_t n, const char *what,
				       const char *node, uint64_t *ret_guid, struct error *err);

#endif
