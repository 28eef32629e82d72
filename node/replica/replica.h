/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPLICA_REPLICA_H
#define ZCSI_NODE_REPLICA_REPLICA_H

/*
 * The copies that this host has of volumes of other hosts: the datasets below REPLICA_FOLDER.
 * Functions run zfs(8), block, and return 0, or -1 with *err. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "proto/copy.h"

struct node;      /* node/host/node.h */
struct tls_names; /* transport/tls_names.h */
struct zfs_table; /* node/zfs/zfs_table.h */

#define REPLICA_FOLDER    "_replica" /* below the parent */
#define REPLICA_SNAPSHOTS 256        /* snapshots that are read of a copy, at most */
#define REPLICA_ALL       8192       /* the same for GetCopyRequest.all; they fit a message */

/* Returns the name of the copy of a volume, whether there is one or not, in the arena. */
char *replica_name(struct arena *arena, const char *parent, const char *id);
/*
 * Returns the key of the catalog that is locked while a stream is received into the copy, or while
 * it or snapshots of it are destroyed.
 */
char *replica_key(struct arena *arena, const char *name);
/* Create a folder below the parent, where nothing is mounted or has a device, unless it exists. */
int replica_make_folder(struct arena *arena, const char *parent, const char *folder,
			struct error *err);
/*
 * *ret is the copy with its newest snapshots: at most REPLICA_SNAPSHOTS, or REPLICA_ALL for
 * replica_read_all. *ret is NULL if the pool is there and has no copy.
 */
int replica_read(struct arena *arena, const char *parent, const char *id, CopyState **ret,
		 struct error *err);
int replica_read_all(struct arena *arena, const char *parent, const char *id, CopyState **ret,
		     struct error *err);
/* The properties that replica_parse reads. */
extern const char replica_columns[];
/*
 * Take the rows of a copy, with at most `most` of its newest snapshots. The strings are those of
 * the table. Returns NULL if a row is damaged, or has another form. For tests.
 */
CopyState *replica_parse(struct arena *arena, const struct zfs_table *table, size_t most);
/*
 * Check that the caller is one of n nodes, or one of those that are recorded with the copy, by the
 * names in its certificate. caller is NULL without TLS, and then always passes. Runs no program.
 */
int replica_check_caller(const struct tls_names *caller, const char *const *nodes, size_t n,
			 const char *id, struct error *err);
int replica_check_known_caller(const struct tls_names *caller, const CopyState *copy,
			       const char *id, struct error *err);
/* Check the lineage of the copy, or that its epoch is not later than `epoch`. Run no program. */
int replica_check_lineage(const CopyState *copy, const char *lineage, const char *id,
			  struct error *err);
int replica_check_epoch(const CopyState *copy, int64_t epoch, const char *id, struct error *err);
/* Check that this host does not have a volume itself. Runs no program. */
int replica_check_no_volume(const struct node *node, int64_t deadline, const char *id,
			    struct error *err);
/* Discard a partly received stream. This destroys a copy that has no snapshot. */
int replica_discard(const CopyState *copy, struct error *err);

#endif
