/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_BACKUP_LIST_H
#define ZCSI_CLI_BACKUP_LIST_H

#include "controller/cli/backup/kept.h"

/* Print all backups, or, if id is not NULL, the snapshots in the backups of that volume. */
void list_backups(struct cli *cli, const char *id);
/* Print n backups in the table that list_backups prints if its id is NULL. */
void list_kept(struct cli *cli, const struct kept_backup *list, size_t n);

#endif
