/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_NAMES_H
#define ZCSI_NODE_CATALOG_NAMES_H

#include "node/catalog/catalog.h"

/* The hashes of all names (common/volume/name.h), in ascending order, each once. */
struct name_list {
	uint64_t *hashes;
	size_t n;
	uint64_t version; /* version of the set of names, as in struct catalog_pool */
};

/* *ret is the names in the catalog, in the arena. Returns 0, or -1 with ERR_UNAVAILABLE. */
int catalog_names(struct catalog *catalog, int64_t deadline, struct arena *arena,
		  struct name_list *ret, struct error *err);

#endif
