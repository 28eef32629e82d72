/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Datasets: their names and their copies.
 *
 * Invariant: a name that is made here leaves room for a snapshot. A volume's own name does with a
 * leaf that fits (node/record/snapshot.h), and what it is called in the trash is never so long that ZFS
 * would refuse the rename because of its snapshots' names.
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

char *dataset_trash(struct arena *arena, const char *parent)
{
	return arena_printf(arena, "%s/" DATASET_TRASH, parent);
}

/*
 * A snapshot's leaf has at most ESCAPE_LEAF_MAX bytes, or what is left after the volume's name.
 * "/_trash/", "-", the guid's 20 digits and "@" are 30: with this many bytes of the volume's leaf
 * the sum stays at DATASET_NAME_MAX.
 */
static int kept_of_leaf(const char *parent)
{
	return DATASET_NAME_MAX - ESCAPE_LEAF_MAX - 30 - (int)strlen(parent);
}

char *dataset_trash_name(struct arena *arena, const char *parent, const char *name, uint64_t guid)
{
	const char *leaf = strrchr(name, '/') + 1;

	return arena_printf(arena, "%s/" DATASET_TRASH "/%.*s-%" PRIu64, parent,
			    kept_of_leaf(parent), leaf, guid);
}

bool dataset_is_trash(const char *parent, const char *name)
{
	size_t length = strlen(parent);

	return !strncmp(name, parent, length) &&
	       !strncmp(name + length, "/" DATASET_TRASH "/", strlen("/" DATASET_TRASH "/"));
}

#define TEXTS(dataset)                                                                             \
	{                                                                                          \
		&(dataset)->id, &(dataset)->name, &(dataset)->parameters, &(dataset)->published,   \
			&(dataset)->source, &(dataset)->root, &(dataset)->origin                   \
	}

static size_t packed_size(struct dataset dataset)
{
	char **texts[] = TEXTS(&dataset);
	size_t size = sizeof(dataset);

	for (size_t i = 0; i < COUNT(texts); i++)
		size += strlen(*texts[i] ? *texts[i] : "") + 1;
	return size;
}

/* A text that nobody set is empty. */
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
