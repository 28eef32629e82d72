/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_JOURNAL_H
#define ZCSI_NODE_CATALOG_JOURNAL_H

/*
 * The journal: changes that are made while the pool is read, to be replayed on the result, and
 * names to be read again. All under the catalog's mutex.
 */

#include "node/catalog/catalog.h"

/* Something was put in, or what had this name went; one of the three. */
struct change {
	struct dataset *dataset;
	struct snapshot *snapshot;
	char *zfs_name;
};

/* To be read again; a family is a dataset and its snapshots. */
struct target {
	char *zfs_name;
	bool family;
};

/* Make a change, and record it while the pool is read. The change is handed over. */
void change_make(struct catalog *catalog, struct change change);
/* Begin a reading: returns the present position in the journal; end it. */
size_t change_mark(struct catalog *catalog);
void change_unmark(struct catalog *catalog);
/*
 * Returns true if the name changed between two positions; replay all changes since one on another
 * inventory.
 */
bool change_between(const struct catalog *catalog, size_t mark, size_t until, const char *zfs_name);
void change_replay(const struct catalog *catalog, size_t mark, struct inventory *inventory);
/* To be read again soon; and all that is, forgotten. */
void change_stale(struct catalog *catalog, const char *zfs_name, bool family);
void change_forget(struct catalog *catalog);
void change_fini(struct catalog *catalog);

#endif
