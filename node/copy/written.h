/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_WRITTEN_H
#define ZCSI_NODE_COPY_WRITTEN_H

/* The copies that lack nothing: no data was written since the newest snapshot that they have. */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"

struct written {
	char *const *idle; /* "dataset#bookmark" of the copies that lack nothing, sorted */
	size_t n;
};

/*
 * Find the copies that lack nothing, of all volumes below the parent, on these nodes, a list ended
 * by NULL. Runs one program for all. *ret lives in the arena. Returns 0, or -1 with *err.
 */
int written_read(struct arena *arena, const char *parent, const char *const *nodes,
		 struct written *ret, struct error *err);
/* Returns true if the copy of this volume on a node is known to lack nothing. */
bool written_nothing(const struct written *written, const char *dataset, const char *node);

#endif
