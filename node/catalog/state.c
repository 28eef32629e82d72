/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Changes of the state of the catalog, and of its inventory as a whole.
 *
 * Invariant: each of them is reported to the listeners. A new inventory has all changes that were
 * made since its reading began.
 */
#include "node/catalog/state.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

void catalog_set_state(struct catalog *catalog, enum catalog_state state, const char *problem)
{
	if (catalog->state == state && !strcmp(catalog->problem, problem))
		return;
	char *old = catalog->problem;
	catalog->state = state;
	catalog->problem = mem_strdup(problem);
	free(old);
	catalog_changed(catalog);
	if (state == CATALOG_READY)
		log_info("pool is ready", log_str("dataset", catalog->parent),
			 log_int("volumes", (long long)catalog->inventory.datasets.n),
			 log_int("snapshots", (long long)catalog->inventory.snapshots.n));
	else if (state == CATALOG_READING)
		log_info("parent is read", log_str("dataset", catalog->parent));
	else if (state == CATALOG_VOLUMES)
		log_info("volumes are read", log_str("dataset", catalog->parent),
			 log_int("volumes", (long long)catalog->inventory.datasets.n));
	else
		log_warn("pool is not ready", log_str("dataset", catalog->parent),
			 log_str("problem", problem));
}

static void keep_origins(struct catalog *catalog, const struct listing *listing)
{
	for (size_t i = 0; i < catalog->n_origins; i++)
		free(catalog->origins[i]);
	catalog->n_origins = listing->n_origins;
	catalog->origins =
		mem_resize(catalog->origins, (listing->n_origins + 1) * sizeof(*catalog->origins));
	for (size_t i = 0; i < listing->n_origins; i++)
		catalog->origins[i] = mem_strdup(listing->origins[i]);
}

void catalog_take_over(struct catalog *catalog, size_t mark, const struct listing *listing,
		       struct inventory *fresh)
{
	struct inventory old = catalog->inventory;

	change_replay(catalog, mark, fresh);
	catalog->inventory = *fresh;
	*fresh = old;
	catalog->names++;
	catalog_changed(catalog);
	catalog->available = listing->available;
	catalog->reserved = listing->reserved;
	catalog->capacity = listing->capacity;
	keep_origins(catalog, listing);
}
