/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A queue of chunks, whose bytes belong to their owners.
 *
 * Invariant: a chunk is removed from the queue before its gone() is called, so the owner may refill
 * it and queue it again from there.
 */
#include "transport/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

static void free_chunk(struct chunk *chunk)
{
	free(chunk);
}

struct chunk *chunk_new(size_t size, uint8_t **ret_bytes)
{
	struct chunk *chunk = mem_resize(NULL, sizeof(*chunk) + size);

	*ret_bytes = (uint8_t *)(chunk + 1);
	*chunk = (struct chunk){.bytes = *ret_bytes, .size = size, .gone = free_chunk};
	return chunk;
}

void chunk_wipe(struct chunk *chunk)
{
	explicit_bzero(chunk + 1, chunk->size);
	free(chunk);
}

void chunks_add(struct chunks *chunks, struct chunk *chunk)
{
	chunk->next = NULL;
	if (chunks->first)
		*chunks->last = chunk;
	else
		chunks->first = chunk;
	chunks->last = &chunk->next;
	chunks->size += chunk->size;
}

static void remove_first(struct chunks *chunks)
{
	struct chunk *chunk = chunks->first;

	chunks->first = chunk->next;
	chunks->at = 0;
	if (chunk->gone)
		chunk->gone(chunk);
}

size_t chunks_take(struct chunks *chunks, uint8_t *bytes, size_t n)
{
	size_t copied = 0;

	while (chunks->first && copied < n) {
		const struct chunk *chunk = chunks->first;
		size_t size = chunk->size - chunks->at;
		if (size > n - copied)
			size = n - copied;
		memcpy(bytes + copied, chunk->bytes + chunks->at, size);
		copied += size;
		chunks->at += size;
		chunks->size -= size;
		if (chunks->at == chunk->size)
			remove_first(chunks);
	}
	return copied;
}

void chunks_drop(struct chunks *chunks)
{
	while (chunks->first)
		remove_first(chunks);
	chunks->size = 0;
}
