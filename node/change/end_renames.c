/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Renames whose last step is missing (rename.c): the volume has its id by the name of its dataset,
 * and zcsi:volume still has both.
 *
 * Invariant: a volume that is renamed at this moment is left alone.
 */
#include "node/change/end_renames.h"

#include "common/clock.h"
#include "common/log.h"
#include "node/agent/agent.h"
#include "node/agent/origin.h"
#include "node/catalog/change.h"

/*
 * End a rename that an earlier zcsi-node began, or whose last step failed. A rename that runs has
 * the key locked, and ends itself: its dataset has another name afterwards.
 */
static void end(struct catalog *catalog, struct arena *arena, const struct dataset *known)
{
	const char *key = origin_key(arena, known->name);
	size_t children;
	struct error err;

	if (catalog_lock_key(catalog, now_ms() + CATALOG_WAIT_MS, key, &err) < 0)
		return;
	struct dataset *dataset =
		agent_prove(arena, catalog_parent(catalog), known, &children, &err);
	bool failed = !dataset || (dataset->renaming && agent_end_rename(arena, dataset, &err) < 0);
	catalog_unlock_key(catalog, key);
	if (!failed)
		catalog_mark_stale(catalog, known->name);
	else if (err.code != ERR_NOT_FOUND)
		log_warn("cannot end the rename of a volume", log_str("dataset", known->name),
			 log_str("error", err.text));
}

void end_renames(struct catalog *catalog)
{
	auto_arena struct arena arena = {.cap = SIZE_MAX};
	struct dataset_list list;

	catalog_renaming(catalog, &arena, &list);
	for (size_t i = 0; i < list.n && !catalog_is_stopping(catalog); i++)
		end(catalog, &arena, list.rows[i]);
}
