/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CHUNK_H
#define ZCSI_CHUNK_H

/* Bytes to be sent, lent by their owners: a queue of chunks, returned in order. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk {
	const uint8_t *bytes;
	size_t size; /* at least 1 */
	/*
	 * Called when the chunk was sent or its queue was dropped. In the first case the owner may
	 * queue it again from here. A queue is dropped only when its stream is finished. May be
	 * NULL.
	 */
	void (*gone)(struct chunk *chunk);
	struct chunk *next;
};

/* Zeroed is empty. */
struct chunks {
	struct chunk *first, **last;
	size_t at;   /* how much of the first is taken */
	size_t size; /* of all that waits */
};

/*
 * Returns a chunk with memory of its own, freed after it was sent or dropped. The caller fills
 * *ret_bytes.
 */
struct chunk *chunk_new(size_t size, uint8_t **ret_bytes);
/* The gone of such a one that may hold a secret. */
void chunk_wipe(struct chunk *chunk);

void chunks_add(struct chunks *chunks, struct chunk *chunk);
/* Copy up to n bytes out; how many. */
size_t chunks_take(struct chunks *chunks, uint8_t *bytes, size_t n);
void chunks_drop(struct chunks *chunks);

#endif
