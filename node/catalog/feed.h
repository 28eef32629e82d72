/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_FEED_H
#define ZCSI_NODE_CATALOG_FEED_H

/*
 * OpenZFS's own feed of changes, for the catalog: `zpool events` as long as we run, on a thread of
 * its own, started again when it ends. Where there is none (zfs-fuse) the thread waits for one.
 */

#include "node/catalog/change.h"

struct feed;

/* Before catalog_start, so that no change falls between. NULL with *err: there is no thread. */
struct feed *feed_start(struct catalog *catalog, struct error *err);
/* NULL is fine. The catalog must still be there. */
void feed_stop(struct feed *feed);

#endif
