/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_MAP_H
#define ZCSI_VOLUME_MAP_H

/*
 * map<string,string>. protoc-c generates a separate C type for every such field (forty in CSI), all
 * with the same two members. The functions here handle all of them, given a message and the name of
 * the field.
 */

#include <stddef.h>
#include <protobuf-c/protobuf-c.h>

#include "common/mem.h"

#define MAP_SIZE_MAX 4096 /* max bytes of keys and values in one map (spec.md, Size Limits) */

struct map_pair {
	const char *key;
	const char *value;
};

struct map {
	const struct map_pair *pairs; /* pairs sorted by key; no key occurs twice */
	size_t n;
};

/* Returns the map of a field. Its texts point into the message; the array is in the arena. */
#define map_of(arena, message, field)                                                              \
	map_read(arena, &(message)->base, ((void)(message)->n_##field, #field))
/* Append a pair to a field. The message keeps both pointers; new entries are in the arena. */
#define map_put(arena, message, field, key, value)                                                 \
	map_append(arena, &(message)->base, ((void)(message)->n_##field, #field), key, value)

/* Returns the value of a key, or NULL if the map does not contain the key. */
const char *map_get(const struct map *map, const char *key);
/* Returns the number of bytes of all keys and values. */
size_t map_size(const struct map *map);

/* Functions behind map_of and map_put. */
struct map map_read(struct arena *arena, const ProtobufCMessage *message, const char *field);
void map_append(struct arena *arena, ProtobufCMessage *message, const char *field, const char *key,
		const char *value);

#endif
