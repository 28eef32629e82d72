/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_STATE_H
#define ZCSI_NODE_CATALOG_STATE_H

/* Changes of the state of the catalog, and of its inventory as a whole. Called with the mutex. */

#include "node/catalog/catalog_inside.h"

/* Set the state and the problem text, and log them if they changed. */
void catalog_set_state(struct catalog *catalog, enum catalog_state state, const char *problem);
/* Replace the inventory by *fresh, read since the mark; *fresh becomes the old inventory. */
void catalog_take_over(struct catalog *catalog, size_t mark, const struct listing *listing,
		       struct inventory *fresh);

#endif
