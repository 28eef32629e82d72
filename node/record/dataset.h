/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_DATASET_H
#define ZCSI_NODE_RECORD_DATASET_H

/*
 * What a volume is in ZFS, and what its dataset is called, alive or deleted. Nothing here runs a
 * program.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "common/mem.h"

#define DATASET_VERSION    "1" /* of the zcsi: properties; another one is not ours to touch */
#define DATASET_ID_MAX     128 /* bytes; CSI's limit for an id and for a name */
#define DATASET_NAME_MAX   255 /* bytes; ZFS's limit, with the snapshot's name */
#define DATASET_PARENT_MAX 90  /* leaves room for both leaves, and for the trash */
#define DATASET_TRASH      "_trash"

/* One allocation, strings included: free() frees a dataset_dup. */
struct dataset {
	char *id;         /* the volume's */
	char *name;       /* pool/parent/leaf; of a deleted one pool/parent/_trash/leaf-guid */
	char *parameters; /* what the creator asked for, verbatim */
	char *published;  /* node/record/publication.h reads it; "" when nobody has it */
	char *source;     /* "snapshot:<id>" or "volume:<id>" it was cloned from, or "" */
	char *root;       /* uid:gid:mode of the root directory, parts may be empty; or "" */
	char *origin;     /* the ZFS name of the snapshot it is a clone of, or "" */
	const struct format *format;
	bool formatted;    /* its file system was made, or found and taken over: zcsi:formatted */
	uint64_t guid;     /* 0: made since the pool was last read */
	int64_t size;      /* in bytes: volsize, or refquota, of which 0 is none */
	int64_t reserved;  /* refreservation in bytes; 0 when thin */
	int64_t used;      /* bytes, when the pool was last read; with its snapshots */
	int64_t available; /* bytes that could be written then */
	int64_t creation;  /* seconds since 1970 */
	int64_t deleted; /* seconds since 1970, when it was thrown away under a --trash-ttl; or 0 */
	bool has_key;    /* that zcsi loads and unloads: node/zfs/key.h */
	size_t snapshots; /* it had, of any kind, when the pool was last read */
};

struct dataset_list {
	struct dataset **rows; /* by id, in the arena */
	size_t n;
};

/* pool/parent/leaf of an id, whether it exists or not. */
char *dataset_name(struct arena *arena, const char *parent, const char *id);

/* pool/parent/_trash; and what a deleted dataset is called there. */
char *dataset_trash(struct arena *arena, const char *parent);
char *dataset_trash_name(struct arena *arena, const char *parent, const char *name, uint64_t guid);
/* Below the trash, whatever it is. */
bool dataset_is_trash(const char *parent, const char *name);

struct dataset *dataset_dup(const struct dataset *from);
struct dataset *dataset_copy(struct arena *arena, const struct dataset *from);

#endif
