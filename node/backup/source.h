/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_SOURCE_H
#define ZCSI_NODE_BACKUP_SOURCE_H

/*
 * A volume of this host as other nodes back it up: the snapshots that are taken for a backup, and
 * its bookmark. Functions run no program.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/copy/history.h"
#include "node/host/node.h"
#include "proto/copy.h"
#include "transport/tls_names.h"

/* Returns the leaf of a snapshot for the backup on a node; time: microseconds since 1970. */
char *source_leaf(struct arena *arena, int64_t time, const char *node);
/* Returns true if source_leaf made the leaf for this node. */
bool source_leaf_is(const char *leaf, const char *node);
/* Returns the name of the bookmark of the newest snapshot that the backup on a node has. */
char *source_bookmark(struct arena *arena, const char *dataset, const char *node);
/*
 * *ret is the point where the next stream begins, or NULL for a new backup. Returns 0, or -1 with
 * *err if the backup has no snapshot in common with the volume, or has a newer one.
 */
int source_base(const struct history *history, const BeginBackupRequest *req,
		const struct point **ret, struct error *err);
/* Check that the certificate of the caller, NULL without TLS, is that of the node. */
int source_check_caller(const struct tls_names *caller, const char *node, struct error *err);
/* Check that the ZFS of this host has what backups need. */
int source_check_zfs(const struct node *node, struct error *err);

#endif
