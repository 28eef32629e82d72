/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The volumes of which this host has data put aside, in datasets below _diverged.
 *
 * Invariant: the struct has the result of one reading of the pool, and no reading that began later
 * has ended. So the late end of a long reading does not bring back data that was destroyed
 * meanwhile.
 */
#include "node/host/asides.h"

#include <stdbool.h>
#include <string.h>

#include "common/volume/name.h"

uint64_t asides_begin(struct asides *asides)
{
	scoped_lock(&asides->lock);

	return ++asides->begun;
}

static bool has(const struct asides *asides, uint64_t id)
{
	for (size_t i = 0; i < asides->n; i++)
		if (asides->ids[i] == id)
			return true;
	return false;
}

void asides_put(struct asides *asides, uint64_t reading, const char *const *ids, size_t n)
{
	scoped_lock(&asides->lock);

	if (reading < asides->read)
		return;
	asides->read = reading;
	asides->count = n;
	asides->n = 0;
	for (size_t i = 0; i < n && asides->n < ASIDES_MAX; i++) {
		const uint64_t id = name_hash(NAME_VOLUME, ids[i]);
		if (!has(asides, id))
			asides->ids[asides->n++] = id;
	}
}

long asides_count(struct asides *asides)
{
	scoped_lock(&asides->lock);

	return asides->read ? (long)asides->count : -1;
}

size_t asides_list(struct asides *asides, struct arena *arena, uint64_t **ret)
{
	scoped_lock(&asides->lock);

	*ret = arena_alloc(arena, (asides->n + 1) * sizeof(**ret));
	memcpy(*ret, asides->ids, asides->n * sizeof(**ret));
	return asides->n;
}
