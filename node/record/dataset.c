/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Building the names of datasets, and copying their records.
 *
 * Invariant: every name built here leaves room for a snapshot's name. The name of a live volume
 * leaves room because snapshot.c shortens leaves. The name in the trash is short enough that ZFS
 * never refuses the rename because the names of the snapshots would become too long.
 */
#include "node/record/dataset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"

char *dataset_name(struct arena *arena, const char *parent, const char *id)
{
	char leaf[ESCAPE_LEAF_MAX + 1];

	escape_leaf(id, leaf);
	return arena_printf(arena, "%s/%s", parent, leaf);
}

char *dataset_received_name(struct arena *arena, const char *parent, const char *id)
{
	return dataset_name(arena, arena_printf(arena, "%s/" DATASET_RECEIVED, parent), id);
}

char *dataset_trash(struct arena *arena, const char *parent)
{
	return arena_printf(arena, "%s/" DATASET_TRASH, parent);
}

/*
 * Returns how many bytes of the volume's leaf the name in the trash keeps. "/_trash/", "-", the 20
 * digits of the guid and "@" are 30 bytes, and a snapshot's leaf is at most ESCAPE_LEAF_MAX. With
 * the parent and the kept bytes, the name of a snapshot has at most DATASET_NAME_MAX bytes.
 */
static int trash_leaf_max(const char *parent)
{
	return DATASET_NAME_MAX - ESCAPE_LEAF_MAX - 30 - (int)strlen(parent);
}

char *dataset_trash_name(struct arena *arena, const char *parent, const char *name, uint64_t guid)
{
	const char *leaf = strrchr(name, '/') + 1;

	return arena_printf(arena, "%s/" DATASET_TRASH "/%.*s-%" PRIu64, parent,
			    trash_leaf_max(parent), leaf, guid);
}

bool dataset_is_trash(const char *parent, const char *name)
{
	size_t length = strlen(parent);

	return !strncmp(name, parent, length) &&
	       !strncmp(name + length, "/" DATASET_TRASH "/", strlen("/" DATASET_TRASH "/"));
}

/*
 * Only a filesystem without encryption may be blank: blank.c looks for files in it, which it cannot
 * do in a zvol, or without a key. A clone has the data of its origin.
 */
bool dataset_may_be_blank(const struct dataset *dataset)
{
	return dataset->guid && !dataset->was_used && !dataset->format->zvol && !dataset->has_key &&
	       !*dataset->source && !dataset->snapshots;
}

#define TEXTS(dataset)                                                                             \
	{                                                                                          \
		&(dataset)->id, &(dataset)->name, &(dataset)->parameters, &(dataset)->published,   \
			&(dataset)->source, &(dataset)->root, &(dataset)->members,                 \
			&(dataset)->push, &(dataset)->schedule, &(dataset)->owner,                 \
			&(dataset)->staged                                                         \
	}

static size_t packed_size(struct dataset dataset)
{
	char **texts[] = TEXTS(&dataset);
	size_t size = sizeof(dataset);

	for (size_t i = 0; i < COUNT(texts); i++)
		size += strlen(*texts[i] ? *texts[i] : "") + 1;
	return size;
}

/* Copy a record and its strings into one block. NULL strings become "". */
static struct dataset *pack(void *memory, const struct dataset *from)
{
	struct dataset *dataset = memory;
	char *end = (char *)(dataset + 1);

	*dataset = *from;
	char **texts[] = TEXTS(dataset);
	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *text = *texts[i] ? *texts[i] : "";
		*texts[i] = end;
		end = stpcpy(end, text) + 1;
	}
	return dataset;
}

struct dataset *dataset_dup(const struct dataset *from)
{
	return pack(mem_alloc(packed_size(*from)), from);
}

struct dataset *dataset_copy(struct arena *arena, const struct dataset *from)
{
	return pack(arena_alloc(arena, packed_size(*from)), from);
}
