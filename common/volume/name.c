/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Hashes of names.
 *
 * Invariant: the hash is the same in every version of both daemons.
 */
#include "common/volume/name.h"

#include "common/hash.h"

uint64_t name_hash_node(const char *node_id)
{
	uint64_t hash = hash_text(HASH_START, node_id);

	return hash ? hash : 1;
}

uint64_t name_hash(enum name_kind kind, const char *text)
{
	return hash_text(hash_byte(HASH_START, (unsigned char)kind), text);
}
