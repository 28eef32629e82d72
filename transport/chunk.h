/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CHUNK_H
#define ZCSI_CHUNK_H

/* Bytes to be sent: a queue of chunks, each returned to its owner once it was sent. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk {
	const uint8_t *bytes;
	size_t size; /* bytes of the chunk, at least 1 */
	/*
	 * Called when the chunk was sent or its queue was dropped, after which the chunk is the
	 * owner's again. The owner of a sent chunk may queue it again from this function. A queue
	 * is dropped only when its stream is finished. May be NULL.
	 */
	void (*gone)(struct chunk *chunk);
	struct chunk *next;
};

/* A queue of chunks. A zeroed queue is empty. */
struct chunks {
	struct chunk *first, **last;
	size_t at;   /* bytes of the first chunk that were taken already */
	size_t size; /* bytes in the queue that were not taken yet */
};

/*
 * Returns a chunk with size bytes of memory of its own, which *ret_bytes points to and the caller
 * fills. The chunk is freed when it was sent or dropped.
 */
struct chunk *chunk_new(size_t size, uint8_t **ret_bytes);
/* Erase and free a chunk of chunk_new: the value of gone for bytes that may contain a secret. */
void chunk_wipe(struct chunk *chunk);

/* Append a chunk. The queue borrows it until its gone() is called. */
void chunks_add(struct chunks *chunks, struct chunk *chunk);
/* Take up to n bytes from the front of the queue. Returns the number of bytes copied to bytes. */
size_t chunks_take(struct chunks *chunks, uint8_t *bytes, size_t n);
/* Empty the queue: call gone() of every chunk. */
void chunks_drop(struct chunks *chunks);

#endif
