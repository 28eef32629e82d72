/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The names of one agent.
 *
 * Invariant: a name that was added stays until it is read from an agent, in a roll call that began
 * after the addition, which names exist and which may still be created.
 */
#include "controller/names.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

void names_fini(struct names *names)
{
	free(names->hashes);
	free(names->added);
	free(names->promised);
	*names = (struct names){0};
}

static int ascending(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

bool names_have(const struct names *names, uint64_t hash)
{
	for (size_t i = 0; i < names->n_added; i++)
		if (names->added[i] == hash)
			return true;
	return names->n && bsearch(&hash, names->hashes, names->n, sizeof(hash), ascending);
}

void names_add(struct names *names, uint64_t hash)
{
	names->added = mem_resize(names->added, (names->n_added + 1) * sizeof(*names->added));
	names->added[names->n_added++] = hash;
}

void names_begin(struct names *names)
{
	names->n_kept = names->n_added;
}

void names_take(struct names *names, uint64_t version, const uint64_t *hashes, size_t n)
{
	names->version = version;
	names->hashes = mem_resize(names->hashes, (n + 1) * sizeof(*names->hashes));
	if (n)
		memcpy(names->hashes, hashes, n * sizeof(*hashes));
	qsort(names->hashes, n, sizeof(*hashes), ascending);
	names->n = n;
	names->read = wall_us();
	names->edition++;
	names->n_added -= names->n_kept;
	if (names->n_added)
		memmove(names->added, names->added + names->n_kept,
			names->n_added * sizeof(*names->added));
	names->n_kept = 0;
}

/* Append hashes to the n at `to`. Returns how many there are then. */
static size_t append(uint64_t *to, size_t n, const uint64_t *hashes, size_t more)
{
	if (more)
		memcpy(to + n, hashes, more * sizeof(*to));
	return n + more;
}

size_t names_all(const struct names *names, struct arena *arena, uint64_t **ret)
{
	size_t n = names->n + names->n_added + names->n_promised;

	*ret = arena_alloc(arena, (n + 1) * sizeof(**ret));
	n = append(*ret, 0, names->hashes, names->n);
	n = append(*ret, n, names->added, names->n_added);
	return append(*ret, n, names->promised, names->n_promised);
}

void names_promise(struct names *names, uint64_t barrier, const uint64_t *promised, size_t n)
{
	names->barrier = barrier;
	names->promised = mem_resize(names->promised, (n + 1) * sizeof(*promised));
	if (n)
		memcpy(names->promised, promised, n * sizeof(*promised));
	names->n_promised = n;
}

bool names_may_have(const struct names *names, uint64_t hash)
{
	for (size_t i = 0; i < names->n_promised; i++)
		if (names->promised[i] == hash)
			return true;
	return names_have(names, hash);
}
