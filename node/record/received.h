/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_RECEIVED_H
#define ZCSI_NODE_RECORD_RECEIVED_H

/*
 * A dataset below DATASET_RECEIVED that is to become a volume: what `zfs get` and `zfs list` print
 * of it, and the check whether it can become one. Runs no program. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "common/volume/format.h"
#include "node/record/zfs_rows.h"

struct received {
	const char *name; /* the ZFS name */
	bool zvol;
	uint64_t guid;
	int64_t creation;
	int64_t volsize;     /* 0: a filesystem */
	uint64_t data;       /* bytes that it refers to */
	const char *origin;  /* the snapshot that it depends on; "-": none */
	const char *root;    /* the encryption root; "-": none */
	const char *foreign; /* a property that a new volume must not have; or NULL */
	bool described;      /* an adoption that did not end has set the properties of the volume */
	size_t snapshots, children;
};

/* Returns the list of properties to read, besides the type. */
const char *received_properties(bool kernel_zfs);
/*
 * Take the row with received_properties and the type; the caller has set ret->name and
 * ret->described. Values count whatever their source is, because a stream may have brought them.
 * Texts are those of the row, or in the arena. Returns false if it is no dataset.
 */
bool received_parse(struct arena *arena, const struct zfs_fields *row, struct received *ret);
/* Count the snapshots and children in what `zfs list -H -d 1 -o name` prints. ret->name is set. */
void received_count(const char *printed, struct received *ret);

/* The volume that the received dataset is to become. */
struct received_wish {
	uint64_t guid; /* the guid that the dataset must have; 0: any */
	int64_t size;  /* 0 for a zvol, which has a size of its own */
	const struct format *format;
};

/*
 * Check that the dataset can become the wished volume. Returns 0, or -1 with *err, which says what
 * to do.
 */
int received_check(const struct received *received, const struct received_wish *wish,
		   struct error *err);

#endif
