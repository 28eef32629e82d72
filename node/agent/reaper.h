/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_REAPER_H
#define ZCSI_NODE_AGENT_REAPER_H

#include "node/catalog/catalog.h"

/*
 * Destroy trashed volumes that nothing depends on any more, and origins that no clone uses. Called
 * by the catalog's thread (catalog_on_read); arg: the struct node. Errors are logged.
 */
void reaper_run(struct catalog *catalog, void *arg);

#endif
