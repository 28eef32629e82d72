/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The listener that is told of changes of the catalog.
 *
 * Invariant: after catalog_tell has returned, no earlier listener is told.
 */
#include "node/catalog/told.h"

#include "common/thread.h"
#include "node/catalog/catalog_inside.h"

void catalog_tell(struct catalog *catalog, const struct told *told)
{
	scoped_lock(&catalog->mutex);

	catalog->told = *told;
}

void catalog_changed(const struct catalog *catalog)
{
	if (catalog->told.fn)
		catalog->told.fn(catalog->told.arg);
}
