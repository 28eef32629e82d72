/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_HEARD_H
#define ZCSI_NODE_OWNER_HEARD_H

/*
 * A table of what the owners of the copies on this host sent by their last call of Hear. In memory:
 * after a restart of zcsi-node the next calls, which come twice a minute, fill it again. Any
 * thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/mem.h"

struct heard;

/* Times are microseconds since 1970. */
struct heard_row {
	const char *id, *lineage, *owner; /* volume id, lineage, node id */
	int64_t epoch;
	int64_t synced; /* the copy has all that was written before; 0: not known */
	int64_t at;     /* when the owner called Hear */
	int64_t at_ms;  /* the same moment by now_ms, because the wall clock may be set */
};

struct heard *heard_new(void);
/* Free the table, which may be NULL. */
void heard_free(struct heard *heard);
/* Keep a copy of the row in place of the earlier row of its volume. heard may be NULL. */
void heard_put(struct heard *heard, const struct heard_row *row);
/* *ret is the row of a volume of this lineage, in the arena. Returns false if there is none. */
bool heard_get(struct heard *heard, struct arena *arena, const char *id, const char *lineage,
	       struct heard_row *ret);

#endif
