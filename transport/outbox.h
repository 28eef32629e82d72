/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_OUTBOX_H
#define ZCSI_OUTBOX_H

/* Bytes on their way to a socket that did not take them yet. Zeroed is empty, without memory. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

struct outbox {
	uint8_t *bytes;
	size_t at, size, capacity; /* what waits is from at to size */
};

static inline size_t outbox_waiting(const struct outbox *box)
{
	return box->size - box->at;
}

/* Room for n more, so that adding them in parts moves nothing. */
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

static inline void outbox_add(struct outbox *box, const void *bytes, size_t n)
{
	if (n > box->capacity - box->size)
		outbox_reserve(box, n);
	memcpy(box->bytes + box->size, bytes, n);
	box->size += n;
}

static inline void outbox_fini(struct outbox *box)
{
	free(box->bytes);
	*box = (struct outbox){0};
}

#endif
