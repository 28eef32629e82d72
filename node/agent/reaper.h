/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_REAPER_H
#define ZCSI_NODE_AGENT_REAPER_H

#include "common/error.h"
#include "node/catalog/catalog.h"

/*
 * Destroy trashed volumes that nothing depends on any more, and origins that no clone uses. Called
 * by the catalog's thread (catalog_on_read); arg: the struct node. Errors are logged.
 */
void reaper_run(struct catalog *catalog, void *arg);

/*
 * Destroy a volume in the trash now, with the snapshots of its schedule and of backups. The caller
 * has its origin key locked. Returns 0 with the bytes that it used in *ret_freed, or -1 with *err,
 * which is ERR_FAILED_PRECONDITION if it has other snapshots, if datasets are below it, or if it is
 * in use.
 */
int reaper_destroy(struct catalog *catalog, struct arena *arena, const struct dataset *known,
		   int64_t *ret_freed, struct error *err);
/* Returns when a volume in the trash was last destroyed, by now_ms; 0: never. Any thread. */
int64_t reaper_last(void);

#endif
