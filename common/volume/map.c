/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Maps of protobuf messages. The descriptors of protobuf-c contain the offset of the field in a
 * message, and of key and value in an entry, so one function reads every map<string,string>.
 *
 * Invariant: a map is sorted and has no key twice. If an encoded message has a key twice, the last
 * value is used, as protobuf specifies.
 */
#include "common/volume/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { KEY, VALUE }; /* indexes of an entry's fields in its descriptor */

/* The location of a map in a message. */
struct place {
	const ProtobufCMessageDescriptor *entry;
	size_t *n;     /* number of entries */
	char *entries; /* address of the pointer to the array of pointers to entries */
};

static struct place find(const ProtobufCMessage *message, const char *field)
{
	const ProtobufCFieldDescriptor *row =
		protobuf_c_message_descriptor_get_field_by_name(message->descriptor, field);
	char *base = (char *)(uintptr_t)message;

	assert(row && row->label == PROTOBUF_C_LABEL_REPEATED &&
	       row->type == PROTOBUF_C_TYPE_MESSAGE);
	return (struct place){.entry = row->descriptor,
			      .n = (size_t *)(void *)(base + row->quantifier_offset),
			      .entries = base + row->offset};
}

static const char *text(const struct place *place, const char *entry, int field)
{
	const char *value;

	memcpy(&value, entry + place->entry->fields[field].offset, sizeof(value));
	return value ? value : "";
}

static int by_key(const void *a, const void *b)
{
	const struct map_pair *left = a, *right = b;

	return strcmp(left->key, right->key);
}

/* Insert a pair into a sorted array of *n pairs; it replaces a pair with the same key. */
static void insert(struct map_pair *pairs, size_t *n, struct map_pair pair)
{
	size_t at = *n;

	while (at > 0 && by_key(&pair, &pairs[at - 1]) < 0)
		at--;
	if (at > 0 && by_key(&pair, &pairs[at - 1]) == 0) {
		pairs[at - 1] = pair;
		return;
	}
	memmove(&pairs[at + 1], &pairs[at], (*n - at) * sizeof(*pairs));
	pairs[at] = pair;
	(*n)++;
}

struct map map_read(struct arena *arena, const ProtobufCMessage *message, const char *field)
{
	struct place place = find(message, field);
	struct map_pair *pairs = arena_alloc(arena, *place.n * sizeof(*pairs));
	const char *const *entries;
	size_t n = 0;

	memcpy(&entries, place.entries, sizeof(entries));
	for (size_t i = 0; i < *place.n; i++)
		insert(pairs, &n,
		       (struct map_pair){.key = text(&place, entries[i], KEY),
					 .value = text(&place, entries[i], VALUE)});
	return (struct map){.pairs = pairs, .n = n};
}

void map_append(struct arena *arena, ProtobufCMessage *message, const char *field, const char *key,
		const char *value)
{
	struct place place = find(message, field);
	ProtobufCMessage *entry = arena_alloc(arena, place.entry->sizeof_message);
	ProtobufCMessage **grown = arena_alloc(arena, (*place.n + 1) * sizeof(*grown));
	void *entries;

	place.entry->message_init(entry);
	memcpy((char *)entry + place.entry->fields[KEY].offset, &key, sizeof(key));
	memcpy((char *)entry + place.entry->fields[VALUE].offset, &value, sizeof(value));
	memcpy(&entries, place.entries, sizeof(entries));
	if (*place.n > 0)
		memcpy(grown, entries, *place.n * sizeof(*grown));
	grown[(*place.n)++] = entry;
	memcpy(place.entries, &grown, sizeof(grown));
}

const char *map_get(const struct map *map, const char *key)
{
	struct map_pair wanted = {.key = key};
	const struct map_pair *found =
		map->n ? bsearch(&wanted, map->pairs, map->n, sizeof(wanted), by_key) : NULL;

	return found ? found->value : NULL;
}

size_t map_size(const struct map *map)
{
	size_t size = 0;

	for (size_t i = 0; i < map->n; i++)
		size += strlen(map->pairs[i].key) + strlen(map->pairs[i].value);
	return size;
}
