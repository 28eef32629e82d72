/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_OWNER_HEARD_H
#define ZCSI_NODE_OWNER_HEARD_H

/*
 * The last words of the owners about the copies on this host. In memory: after a restart of
 * zcsi-node the next beats fill it again. Any thread.
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
	int64_t at;     /* when the owner told this */
	int64_t at_ms;  /* the same by now_ms, since clocks are set */
};

struct heard *heard_new(void);
/* Free the table, which may be NULL. */
void heard_free(struct heard *heard);
/* Keep a copy of the row, instead of what was known of the volume. heard may be NULL. */
void heard_put(struct heard *heard, const struct heard_row *row);
/* *ret is the row of a volume of this lineage, in the arena; false: there is none. */
bool heard_get(struct heard *heard, struct arena *arena, const char *id, const char *lineage,
	       struct heard_row *ret);

#endif
