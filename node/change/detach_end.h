/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_DETACH_END_H
#define ZCSI_NODE_CHANGE_DETACH_END_H

/*
 * How a volume that is a clone becomes one that depends on no other: a copy of all its data takes
 * its place. How far that is can be read from ZFS alone:
 *
 *	pool/parent/vol                   the volume
 *	pool/parent/_detach/vol           the copy
 *	pool/parent/_trash/old-vol-<guid> the former volume
 *
 * 1. The volume gets DETACH_PROPERTY with its own guid, and a snapshot that begins with
 *    DETACH_SNAPSHOT.
 * 2. All its snapshots are copied. A zcsi-node that finds the copy beside the volume destroys it.
 * 3. The copy gets the properties of the volume, and DETACH_PROPERTY with its guid.
 * 4. The volume is renamed to the former one. From here on it is finished, not given up.
 * 5. The copy is renamed to the volume.
 * 6. DETACH_PROPERTY of the volume gets a "+". Until then both have the snapshots that were copied,
 *    but for those that were destroyed.
 * 7. The snapshots of the former volume are destroyed, and that one is a deleted volume as any
 *    other. The snapshot of step 1 and DETACH_PROPERTY are removed.
 *
 * Functions run zfs(8) and return 0, or -1 with *err.
 */

#include "node/host/node.h"

#define DETACH_PROPERTY "zcsi:detach"
#define DETACH_FOLDER   "_detach"
#define DETACH_SNAPSHOT "_detach-"

/* End what was begun with a volume before step 4: destroy the copy, and remove the marks. */
int detach_end_discard(struct arena *arena, const char *parent, const char *name,
		       struct error *err);
/*
 * Lock the origin keys of the volume and of the former one: no snapshot is destroyed meanwhile, and
 * the trash is not emptied. After it they are unlocked, and the trash is looked through.
 */
int detach_end_lock(const struct node *node, struct arena *arena, int64_t deadline,
		    const char *name, const char *former, struct error *err);
void detach_end_unlock(const struct node *node, struct arena *arena, const char *name,
		       const char *former);
/* Steps 6 and 7, with both locked. mark: DETACH_PROPERTY of the volume. */
int detach_end_finish(const struct node *node, struct arena *arena, const char *name,
		      const char *mark, struct error *err);
/* End what an earlier zcsi-node has begun, after the first reading of the pool. */
int detach_end_earlier(const struct node *node, struct arena *arena, int64_t deadline,
		       struct error *err);

#endif
