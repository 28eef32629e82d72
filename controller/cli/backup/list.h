/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_BACKUP_LIST_H
#define ZCSI_CLI_BACKUP_LIST_H

#include "controller/cli/backup/kept.h"

/* Print the backups of all volumes, or, if id is not NULL, the snapshots of those of a volume. */
void list_backups(struct cli *cli, const char *id);
/* Print these backups as list_backups prints all of them. */
void list_kept(struct cli *cli, const struct kept_backup *list, size_t n);

#endif
