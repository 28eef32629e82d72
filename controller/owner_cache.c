/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A direct-mapped cache: each id hashes to one slot, and the latest entry replaces the older one.
 *
 * Invariant: a past epoch never becomes current again, so entries of it are never returned.
 */
#include "controller/owner_cache.h"

#include "common/hash.h"
#include "common/mem.h"

static uint64_t hash_of(const char *id)
{
	uint64_t hash = hash_text(HASH_START, id);

	return hash ^ hash >> 32;
}

const struct agent *owner_cache_get(struct owner_cache *owner_cache, const char *id, unsigned epoch)
{
	uint64_t hash = hash_of(id);
	scoped_lock(&owner_cache->lock);
	const struct cached_owner *cached = &owner_cache->list[hash % OWNER_CACHE_SLOTS];

	return cached->id == hash && cached->epoch == epoch ? cached->agent : NULL;
}

void owner_cache_put(struct owner_cache *owner_cache, const char *id, unsigned epoch,
		     const struct agent *agent)
{
	uint64_t hash = hash_of(id);
	scoped_lock(&owner_cache->lock);

	owner_cache->list[hash % OWNER_CACHE_SLOTS] = (struct cached_owner){hash, epoch, agent};
}
