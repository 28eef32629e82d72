/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_JOURNAL_H
#define ZCSI_NODE_CATALOG_JOURNAL_H

/*
 * The journal, which records the changes made while the pool is read, to replay them on the result;
 * and the list of stale names, which are to be read again. All functions are called with the
 * catalog's mutex.
 */

#include "node/catalog/catalog.h"

/* A change of the inventory. Exactly one pointer is set. */
struct change {
	struct dataset *dataset;   /* the new state of a volume */
	struct snapshot *snapshot; /* the new state of a snapshot */
	char *zfs_name;            /* a name that no volume or snapshot has any more */
	bool damaged;              /* zfs_name exists, but has a value that cannot be read */
};

/* A name to be read again. */
struct target {
	char *zfs_name;
	bool family; /* all snapshots of this dataset are to be read too */
};

/* Apply a change, and record it if the pool is being read. Takes ownership of its pointer. */
void change_make(struct catalog *catalog, struct change change);
/* Begin a reading. Returns the present position in the journal. */
size_t change_mark(struct catalog *catalog);
/* End a reading. When no reading is in progress any more, the journal is emptied. */
void change_unmark(struct catalog *catalog);
/* Returns true if the name changed between two positions of the journal. */
bool change_between(const struct catalog *catalog, size_t mark, size_t until, const char *zfs_name);
/* Apply all changes since the position to another inventory. */
void change_replay(const struct catalog *catalog, size_t mark, struct inventory *inventory);
/* Add a name to the stale ones; family: read all snapshots of the dataset too. */
void change_stale(struct catalog *catalog, const char *zfs_name, bool family);
/* Empty the list of stale names. */
void change_forget(struct catalog *catalog);
/* Free the journal, the stale names and the locked keys, when the catalog is freed. */
void change_fini(struct catalog *catalog);

#endif
