/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_DATASET_H
#define ZCSI_NODE_RECORD_DATASET_H

/*
 * The record of a volume, which is one ZFS dataset below the parent, and the dataset's name while
 * the volume lives and after it was deleted. Runs no program. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "common/mem.h"

#define DATASET_VERSION    "1" /* zcsi:version; a dataset with another is ignored */
#define DATASET_ID_MAX     128 /* bytes; CSI's limit for ids and names */
#define DATASET_NAME_MAX   255 /* bytes; ZFS's limit, including a snapshot's name */
#define DATASET_PARENT_MAX 90  /* bytes; leaves room for _trash and the leaves below it */
#define DATASET_TRASH      "_trash"
#define DATASET_RECEIVED   "_received" /* received datasets that are to become volumes */
#define DATASET_UNCOUNTED  SIZE_MAX    /* the snapshots were not read yet */

/* Sizes are bytes, times are seconds since 1970. "" is an unset string. */
struct dataset {
	char *id;         /* the volume's id */
	char *name;       /* pool/parent/leaf; if deleted, pool/parent/_trash/leaf-guid */
	char *parameters; /* the parameters of CreateVolume, unchanged */
	char *published;  /* the text that publication_parse reads */
	char *source;     /* "snapshot:<id>" or "volume:<id>" if it is a clone */
	char *root;       /* uid:gid:mode of the root directory; each part may be empty */
	char *members;    /* the text that members_parse reads */
	char *push;       /* the text that push_rules_parse reads */
	char *schedule;   /* the text that schedule_parse reads */
	char *owner;      /* the text that ownership_parse reads */
	char *staged;     /* the boot in which it was last staged, until unstaged; if has_key */
	const struct format *format;
	bool formatted;    /* zcsi:formatted is set: the file system was made or adopted */
	bool was_used;     /* counts as used: zcsi:published is set, though perhaps to no node */
	uint64_t guid;     /* 0: created since the pool was last read */
	int64_t size;      /* volsize, or refquota; 0: no quota */
	int64_t reserved;  /* refreservation; 0: thin */
	int64_t used;      /* bytes used with its snapshots, when the pool was last read */
	int64_t available; /* bytes that could be written when the pool was last read */
	int64_t creation;
	int64_t deleted;  /* when it was moved to the trash; 0: not kept there, or not deleted */
	int64_t keep;     /* seconds to keep it in the trash, at least; 0: --trash-ttl */
	int64_t epoch;    /* how often it got another owner, or may have; 0: never */
	bool has_key;     /* zcsi loads and unloads its key (node/zfs/key.h) */
	bool renaming;    /* zcsi:volume has two ids: a rename has not ended (volume_parse.c) */
	size_t snapshots; /* how many it had, of any kind, when it was last read */
};

struct dataset_list {
	struct dataset **rows; /* in the order of their ids */
	size_t n;
};

/* Returns the name of the volume with this id, pool/parent/leaf, whether it exists or not. */
char *dataset_name(struct arena *arena, const char *parent, const char *id);
/* Returns the name of the dataset that is to become this volume, pool/parent/_received/leaf. */
char *dataset_received_name(struct arena *arena, const char *parent, const char *id);
/* Returns the name of the trash, or that of the dataset `name` after it was moved there. */
char *dataset_trash(struct arena *arena, const char *parent);
char *dataset_trash_name(struct arena *arena, const char *parent, const char *name, uint64_t guid);
/* Returns true if the name is of anything below the trash. */
bool dataset_is_trash(const char *parent, const char *name);
/*
 * Returns false if the record shows that the volume may have data. True does not prove that it has
 * none, since a mount by hand is not recorded (node/attach/blank.h).
 */
bool dataset_may_be_blank(const struct dataset *dataset);

/* Returns a copy in one allocation, which free() releases; or a copy in the arena. */
struct dataset *dataset_dup(const struct dataset *from);
struct dataset *dataset_copy(struct arena *arena, const struct dataset *from);

#endif
