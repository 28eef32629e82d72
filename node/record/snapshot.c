/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Building and recognising the names and ids of snapshots, and copying their records.
 *
 * Invariant: a leaf or id that is too long is cut and ends in "_h" and 32 hex digits of the SHA-256
 * of the whole, so two names never have the same leaf and two snapshots never the same id.
 */
#include "node/record/snapshot.h"

#include <ctype.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/volume/escape.h"

#define DIGEST 32           /* hex digits */
#define MARK   (2 + DIGEST) /* bytes of "_h" and the digits */
#define GROUP  "_g"         /* occurs in no escaped text (common/volume/escape.h) */
#define CLONE  "_clone-"

/* Returns the text, shortened to `room` bytes if needed, with the digest of `whole`. */
static char *fit(struct arena *arena, const char *text, const char *whole, size_t room)
{
	char digest[SHA256_DIGEST_STRING_LENGTH];

	if (strlen(text) <= room)
		return arena_strdup(arena, text);
	size_t head = room - MARK;
	/* Cut between characters of UTF-8: protobuf refuses half ones. */
	while (head && ((unsigned char)text[head] & 0xc0) == 0x80)
		head--;
	SHA256Data((const uint8_t *)whole, strlen(whole), digest);
	return arena_printf(arena, "%.*s_h%.*s", (int)head, text, DIGEST, digest);
}

/* Returns how many bytes a leaf after this dataset's name may have. */
static size_t room_after(const char *dataset)
{
	size_t room = DATASET_NAME_MAX - strlen(dataset) - 1;

	return room < ESCAPE_LEAF_MAX ? room : ESCAPE_LEAF_MAX;
}

/* Returns the leaf of a CSI name, in at most `room` bytes. */
static char *leaf_of(struct arena *arena, const char *name, size_t room)
{
	char leaf[ESCAPE_LEAF_MAX + 1];

	escape_leaf(name, leaf);
	return fit(arena, leaf, name, room);
}

char *snapshot_zfs_name(struct arena *arena, const char *dataset, const char *name)
{
	return arena_printf(arena, "%s@%s", dataset, leaf_of(arena, name, room_after(dataset)));
}

char *snapshot_group_zfs_name(struct arena *arena, const char *dataset, const char *group)
{
	return arena_printf(arena, "%s@%s" GROUP, dataset,
			    leaf_of(arena, group, room_after(dataset) - strlen(GROUP)));
}

char *snapshot_clone_zfs_name(struct arena *arena, const char *dataset, const char *clone_id)
{
	return arena_printf(arena, "%s@" CLONE "%s", dataset,
			    leaf_of(arena, clone_id, room_after(dataset) - strlen(CLONE)));
}

char *snapshot_id(struct arena *arena, const char *dataset_id, const char *leaf)
{
	char *whole = arena_printf(arena, "%s@%s", dataset_id, leaf);

	return fit(arena, whole, whole, DATASET_ID_MAX);
}

size_t snapshot_id_prefix(const char *dataset_id)
{
	size_t length = strlen(dataset_id) + 1;
	size_t kept = DATASET_ID_MAX - MARK - 3; /* a cut moves back by 3 bytes at most */

	return length < kept ? length : kept;
}

/*
 * A leaf is shortened to fit the name of its dataset. The dataset may have been renamed since, so
 * the name is shortened to the leaf's own length before it is compared.
 */
bool snapshot_leaf_is(struct arena *arena, const char *leaf, const char *name)
{
	size_t length = strlen(leaf);

	return !strcmp(leaf, leaf_of(arena, name, ESCAPE_LEAF_MAX)) ||
	       (length >= MARK && length <= ESCAPE_LEAF_MAX &&
		!strcmp(leaf, leaf_of(arena, name, length)));
}

bool snapshot_leaf_is_group(struct arena *arena, const char *leaf, const char *group)
{
	size_t length = strlen(leaf), tail = strlen(GROUP);

	if (length <= tail || strcmp(leaf + length - tail, GROUP))
		return false;
	return snapshot_leaf_is(arena, arena_printf(arena, "%.*s", (int)(length - tail), leaf),
				group);
}

bool snapshot_leaf_is_hidden(const char *leaf)
{
	return leaf[0] == '_' && islower((unsigned char)leaf[1]);
}

bool snapshot_leaf_is_clone(const char *leaf)
{
	return !strncmp(leaf, CLONE, strlen(CLONE));
}

bool snapshot_is_of(const struct snapshot *snapshot, const char *dataset)
{
	size_t length = strlen(dataset);

	return !strncmp(snapshot->zfs_name, dataset, length) && snapshot->zfs_name[length] == '@';
}

const char *snapshot_leaf(const struct snapshot *snapshot)
{
	return strchr(snapshot->zfs_name, '@') + 1;
}

#define TEXTS(snapshot)                                                                            \
	{                                                                                          \
		&(snapshot)->id, &(snapshot)->name, &(snapshot)->dataset_id,                       \
			&(snapshot)->zfs_name, &(snapshot)->group                                  \
	}

static size_t packed_size(struct snapshot snapshot)
{
	char **texts[] = TEXTS(&snapshot);
	size_t size = sizeof(snapshot);

	for (size_t i = 0; i < COUNT(texts); i++)
		size += strlen(*texts[i] ? *texts[i] : "") + 1;
	return size;
}

static struct snapshot *pack(void *memory, const struct snapshot *from)
{
	struct snapshot *snapshot = memory;
	char *end = (char *)(snapshot + 1);

	*snapshot = *from;
	char **texts[] = TEXTS(snapshot);
	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *text = *texts[i] ? *texts[i] : "";
		*texts[i] = end;
		end = stpcpy(end, text) + 1;
	}
	return snapshot;
}

struct snapshot *snapshot_dup(const struct snapshot *from)
{
	return pack(mem_alloc(packed_size(*from)), from);
}

struct snapshot *snapshot_copy(struct arena *arena, const struct snapshot *from)
{
	return pack(arena_alloc(arena, packed_size(*from)), from);
}
