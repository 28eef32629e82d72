/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_WRITTEN_H
#define ZCSI_NODE_COPY_WRITTEN_H

/* How much was written to each volume since the newest snapshot that its copies have. */

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/mem.h"

struct written {
	char *const *idle; /* "dataset#bookmark" of the copies that lack nothing, sorted */
	size_t n;
};

/*
 * Read it for all volumes below the parent and copies on these nodes, a list ended by NULL. Runs
 * one program, whatever their number is. *ret lives in the arena. Returns 0, or -1 with *err.
 */
int written_read(struct arena *arena, const char *parent, const char *const *nodes,
		 struct written *ret, struct error *err);
/* Returns true if the copy of this volume on a node is known to lack nothing. */
bool written_nothing(const struct written *written, const char *dataset, const char *node);

#endif
