/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_FEED_H
#define ZCSI_NODE_CATALOG_FEED_H

/*
 * The events of OpenZFS, for the catalog. A thread runs `zpool events`, and starts it again after
 * it ended. With a ZFS without events (zfs-fuse), it checks every minute for one that has events.
 */

#include "node/catalog/change.h"

struct feed;

/*
 * Start the thread. Call it before catalog_start, so that no change between the first reading and
 * the first event is missed. Returns NULL with *err if the thread cannot be started.
 */
struct feed *feed_start(struct catalog *catalog, struct error *err);
/* End the thread and free the feed, which may be NULL. Call it before catalog_free. */
void feed_stop(struct feed *feed);

#endif
