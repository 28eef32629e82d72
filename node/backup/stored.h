/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_STORED_H
#define ZCSI_NODE_BACKUP_STORED_H

/*
 * The backups that this host has: the datasets below BACKUP_FOLDER. All that is known of a backup
 * is in its properties:
 *
 *	zcsi:backup      the node that the last stream came from, and others that have the
 *	                 data: their escaped ids, with commas between
 *	zcsi:backup_every, zcsi:backup_keep    as in RunBackupRequest
 *	zcsi:verified    when all data was last read (verify.h), in seconds since 1970
 *	zcsi:volume, zcsi:parameters, zcsi:format, zcsi:root, zcsi:keep    as the volume has them
 *	zcsi:size        the size of a volume that is a filesystem, in bytes
 *
 * Functions run zfs(8), block, and return 0, or -1 with *err. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/zfs/zfs.h"
#include "proto/agent.h"
#include "proto/copy.h"

struct zfs_table; /* node/zfs/zfs_table.h */

#define BACKUP_FOLDER    "_backup" /* name of the folder below the parent */
#define BACKUP_SNAPSHOTS 8192      /* only so many snapshots are returned: they fit a message */

struct stored_list {
	BackupState **rows; /* the backups, in order of id */
	size_t n;
};

/* Returns the name of the backup of a volume, whether there is one or not, in the arena. */
char *stored_name(struct arena *arena, const char *parent, const char *id);
/* Returns the key of the catalog that is locked while the backup changes. */
char *stored_key(struct arena *arena, const char *name);
/* Read all backups, in the arena, each with its newest snapshot. */
int stored_read_all(struct arena *arena, const char *parent, struct stored_list *ret,
		    struct error *err);
/* *ret is the backup of a volume with its snapshots; NULL if the pool is there and has none. */
int stored_read(struct arena *arena, const char *parent, const char *id, BackupState **ret,
		struct error *err);
/*
 * Take the rows of backups; one with a damaged row is left out. most: how many snapshots of a
 * dataset, the newest ones, are returned. For tests.
 */
void stored_parse(struct arena *arena, const char *parent, const struct zfs_table *table,
		  size_t most, struct stored_list *ret);
/* The properties that a run sets besides those of the volume. */
struct stored_rules {
	const char *from; /* the node that has the volume */
	int64_t every;    /* `every` and `keep` as in RunBackupRequest */
	const char *keep;
};

/* Add the properties of the backup of a volume, for `zfs receive`. Runs no program. */
void stored_properties(struct arena *arena, const ReceiveHeader *header,
		       const struct stored_rules *rules, struct zfs_properties *to);
/* Set `every` and `keep` of a backup; at least one of them is given. rules->from does not count. */
int stored_set_rules(struct arena *arena, const BackupState *backup,
		     const struct stored_rules *rules, struct error *err);
/* Discard a partly received stream. If the backup has no snapshot, it is destroyed with it. */
int stored_discard(const BackupState *backup, struct error *err);
/* Destroy a backup with all its snapshots, unless it is mounted. */
int stored_destroy(struct arena *arena, const BackupState *backup, struct error *err);

#endif
