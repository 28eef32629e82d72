/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_ADOPTABLE_H
#define ZCSI_NODE_RECORD_ADOPTABLE_H

/*
 * A dataset that is to become a volume, received below DATASET_RECEIVED or made by a person or
 * another driver: what `zfs get` and `zfs list` print of it, and the check whether it can become
 * one. Runs no program. Functions that return int return 0, or -1 with *err, which says what to do.
 * Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "common/volume/format.h"
#include "node/record/zfs_rows.h"

struct adoptable {
	const char *name;   /* the ZFS name */
	const char *parent; /* the parent of volumes */
	const char *volume; /* the value of zcsi:volume as long as an adoption did not end */
	bool zvol;
	uint64_t guid;
	int64_t creation;
	int64_t volsize;                                /* 0: a filesystem */
	int64_t refquota, quota, reserved, reservation; /* bytes; reserved: the refreservation */
	uint64_t data;                                  /* bytes that it refers to */
	const char *origin;   /* the snapshot that it depends on; "-": none */
	const char *root;     /* the encryption root; "-": none */
	bool locked;          /* the key is not loaded */
	bool incomplete;      /* the first stream did not end yet, or was interrupted */
	const char *property; /* a property that a new volume must not have, or NULL; its value */
	const char *value;
	const char *ours; /* the properties of zcsi on it, with commas between; or "" */
	bool described;   /* an adoption that did not end has set the volume's properties */
	size_t snapshots, children;
};

/*
 * Check that the name is that of a dataset of the parent's pool which can be renamed to a volume:
 * not the parent, nothing above it, and nothing in the folders below it that zcsi needs itself.
 */
int adoptable_check_name(const char *parent, const char *name, struct error *err);
/* Returns true if the dataset is below DATASET_RECEIVED, where an incomplete one may be. */
bool adoptable_is_received(const struct adoptable *found);
/* Returns the list of properties to read, besides the type. */
const char *adoptable_properties(bool kernel_zfs);
/*
 * Take the row with adoptable_properties and the type; the caller has set ret->name and
 * ret->volume. A value counts unless it is inherited, because a stream may have brought it. Texts
 * are those of the row. Returns false if it is no dataset.
 */
bool adoptable_parse(const struct zfs_fields *row, struct adoptable *ret);
/* Count the snapshots and children in what `zfs list -H -d 1 -o name` prints. ret->name is set. */
void adoptable_count(const char *printed, struct adoptable *ret);

/* The volume that the dataset is to become. */
struct adoption_wish {
	uint64_t guid;               /* the guid that the dataset must have; 0: any */
	int64_t size;                /* 0: that of the dataset */
	const struct format *format; /* NULL: that of the dataset */
};

/* Check that the dataset can become the wished volume. */
int adoptable_check(const struct adoptable *found, const struct adoption_wish *wish,
		    struct error *err);
/* Returns the size in bytes that it gets as a volume; 0: it has none and none is wished. */
int64_t adoptable_size(const struct adoptable *found, const struct adoption_wish *wish);
/*
 * Returns the format of a zvol whose device contains `type`, as libblkid names it, "" if it is
 * blank; or NULL with *err. wish: the format it is to have; NULL: the filesystem that is on it.
 */
const struct format *adoptable_format(const struct adoptable *found, const char *type,
				      const struct format *wish, struct error *err);

#endif
