/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_LISTING_H
#define ZCSI_NODE_RECORD_LISTING_H

/*
 * Parsing the output of `zfs get` into lists of volumes, deleted volumes and snapshots. Runs no
 * program. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"
#include "node/record/dataset.h"
#include "node/record/snapshot.h"

struct listing {
	char *text;        /* the output that the rows point into; the caller frees it */
	bool parent;       /* the output contained the parent, not damaged */
	int64_t available; /* bytes that a new dataset below the parent could use */
	int64_t reserved;  /* refreservation of the parent, in bytes */
	int64_t capacity;  /* bytes that all below the parent use, and `available`; 0: unknown */
	struct dataset **datasets;
	size_t n_datasets;
	struct dataset **trashed; /* deleted volumes */
	size_t n_trashed;
	struct snapshot **snapshots;
	size_t n_snapshots;
	char **origins; /* ZFS names of snapshots made for clones and not destroyed with -d */
	size_t n_origins;
	char **others; /* ZFS names of all other datasets and snapshots, hidden ones included */
	size_t n_others;
	char **damaged; /* ZFS names that have a value with a control character */
	size_t n_damaged;
};

/*
 * Parse the output of `zfs get -Hp -o name,property,value,source PROPERTIES`, where properties is a
 * result of zfs_row_properties(). The text is cut up in place, and rows of *ret point into it; the
 * rest of *ret is in the arena, and ret->text is NULL. Returns false if the output is rejected,
 * because it may contain lines of names that do not exist (zfs_rows.h); do not use *ret then.
 *
 * A dataset is a volume if it is a filesystem, or a zvol with a known format, directly below the
 * parent or the trash, its local zcsi:version is DATASET_VERSION and its local zcsi:volume fits
 * its name. A snapshot counts if it inherits zcsi:volume from such a dataset. All else, damaged
 * names, and the snapshots that zcsi keeps for itself, go to `others`.
 */
bool listing_parse(struct arena *arena, const char *parent, const char *properties, char *text,
		   struct listing *ret);

/* Returns true if the name is in listing->damaged. */
bool listing_is_damaged(const struct listing *listing, const char *name);

#endif
