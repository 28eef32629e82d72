/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_METHODS_H
#define ZCSI_NODE_BACKUP_METHODS_H

/* The rows of zcsi.v1.Backup, which nodes with backups call, for node/service.h. */

#define BACKUP_METHODS(INLINE, PLAIN, KEYED, STREAM)                                               \
	KEYED(BeginBackup, begin_backup, id, LANE_COPY)                                            \
	STREAM(ReadBackup, read_backup)                                                            \
	KEYED(EndBackup, end_backup, id, LANE_COPY)

#endif
