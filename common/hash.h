/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HASH_H
#define ZCSI_HASH_H

/* FNV-1a, 64 bits: for tables and for spreading. An attacker can choose texts that collide. */

#include <stdint.h>

#define HASH_START 0xcbf29ce484222325

static inline uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * 0x100000001b3;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_byte(hash, (unsigned char)*text);
	return hash;
}

#endif
