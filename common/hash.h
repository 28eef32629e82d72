/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HASH_H
#define ZCSI_HASH_H

/*
 * FNV-1a with 64 bits, for hash tables and for spreading values. Not for untrusted keys where
 * collisions matter: an attacker can choose texts that collide.
 */

#include <stdint.h>

#define HASH_START 0xcbf29ce484222325

/* Returns the hash extended by a byte. Start with HASH_START. */
static inline uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * 0x100000001b3;
}

/* Returns the hash extended by a text, without its NUL. Start with HASH_START. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_byte(hash, (unsigned char)*text);
	return hash;
}

#endif
