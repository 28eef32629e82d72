/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_MAP_H
#define ZCSI_VOLUME_MAP_H

/*
 * map<string,string>: protoc-c makes another C type of every such field (forty in CSI), with the
 * same two members. Here a message and the name of its field are enough, for all of them.
 */

#include <stddef.h>
#include <protobuf-c/protobuf-c.h>

#include "common/mem.h"

#define MAP_SIZE_MAX 4096 /* bytes of keys and values of one map (spec.md, Size Limits) */

struct map_pair {
	const char *key;
	const char *value;
};

struct map {
	const struct map_pair *pairs; /* sorted by key, no key twice */
	size_t n;
};

/* The field's pairs, pointing into the message; the array is in the arena. */
#define map_of(arena, message, field)                                                              \
	map_read(arena, &(message)->base, ((void)(message)->n_##field, #field))
/* Append a pair. The message keeps both pointers; what it needs more is in the arena. */
#define map_put(arena, message, field, key, value)                                                 \
	map_append(arena, &(message)->base, ((void)(message)->n_##field, #field), key, value)

/* NULL when there is no such key. */
const char *map_get(const struct map *map, const char *key);
/* Bytes of all keys and values. */
size_t map_size(const struct map *map);

struct map map_read(struct arena *arena, const ProtobufCMessage *message, const char *field);
void map_append(struct arena *arena, ProtobufCMessage *message, const char *field, const char *key,
		const char *value);

#endif
