/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_WRITTEN_H
#define ZCSI_NODE_COPY_WRITTEN_H

/* How much each copy lacks: the bytes that were written since the newest snapshot that it has. */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "node/copy/order.h"

struct written_row {
	const char *bookmark; /* "dataset#bookmark" of the copy */
	int64_t bytes;
};

struct written {
	struct written_row *rows; /* sorted; a copy for which ZFS prints no number has none */
	size_t n;
	int64_t at, time; /* just before ZFS was asked: now_us(), and microseconds since 1970 */
};

/*
 * Find how much the copies lack, of all volumes below the parent, on these nodes, a list ended by
 * NULL. Runs one program for all. *ret lives in the arena. Returns 0, or -1 with *err and no rows.
 */
int written_read(struct arena *arena, const char *parent, const char *const *nodes,
		 struct written *ret, struct error *err);
/* Parse what `zfs get -o name,property,value` prints, in place: the rows and n of *ret. */
void written_parse(struct arena *arena, char *text, struct written *ret);
/* Returns how many bytes the copy of this volume on a node lacks; -1: that is not known. */
int64_t written_bytes(const struct written *written, const char *dataset, const char *node);

/* Returns the nodes for written_read, ended by NULL; none if that is not to be called now. */
const char *const *written_nodes(const struct order_list *orders, struct arena *arena);
/* Returns when written_read is to be called even if no order is due; a now_ms() value. */
int64_t written_look_at(const struct order_list *orders);
/* Store how much copies lack. Orders that lack nothing are done; other due ones get `lacks`. */
void written_store(struct order_list *orders, const struct written *written);

#endif
