/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_OUTBOX_H
#define ZCSI_OUTBOX_H

/* A queue of bytes, such as those that a socket has not accepted yet. A zeroed outbox is empty. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct outbox {
	uint8_t *bytes;
	size_t at, size, capacity; /* the queued bytes are bytes[at] to bytes[size - 1] */
};

/* Returns the number of queued bytes. */
static inline size_t outbox_waiting(const struct outbox *box)
{
	return box->size - box->at;
}

/* Reserve room for n more bytes, so that outbox_add does not move the queue for each part. */
static inline void outbox_reserve(struct outbox *box, size_t n)
{
	size_t waiting = outbox_waiting(box);

	if (box->at > 0 && waiting > 0)
		memmove(box->bytes, box->bytes + box->at, waiting);
	box->at = 0;
	box->size = waiting;
	if (waiting + n <= box->capacity)
		return;
	box->capacity = waiting + n > 2 * box->capacity ? waiting + n : 2 * box->capacity;
	box->bytes = mem_resize(box->bytes, box->capacity);
}

/* Append a copy of n bytes. */
static inline void outbox_add(struct outbox *box, const void *bytes, size_t n)
{
	if (n > box->capacity - box->size)
		outbox_reserve(box, n);
	memcpy(box->bytes + box->size, bytes, n);
	box->size += n;
}

/* Free the memory. The outbox is empty and usable afterwards. */
static inline void outbox_fini(struct outbox *box)
{
	free(box->bytes);
	*box = (struct outbox){0};
}

#endif
