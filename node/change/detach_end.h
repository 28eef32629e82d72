/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_DETACH_END_H
#define ZCSI_NODE_CHANGE_DETACH_END_H

/*
 * How a volume that is a clone becomes one that depends on no other: a copy of all its data takes
 * its place. The last step that was taken can be read from ZFS alone:
 *
 *	pool/parent/vol                   the volume
 *	pool/parent/_detach/vol           the copy
 *	pool/parent/_trash/old-vol-<guid> the former volume
 *
 * 1. The volume gets DETACH_PROPERTY with its own guid, and a snapshot that begins with
 *    DETACH_SNAPSHOT.
 * 2. All its snapshots are copied. A zcsi-node that finds the copy beside the volume destroys it.
 * 3. The copy gets the properties of the volume, and DETACH_PROPERTY with that guid.
 * 4. The volume is renamed to the former one. From here on a detach is finished, not given up.
 * 5. The copy is renamed to the volume.
 * 6. DETACH_PROPERTY of the volume gets a "+". Until then both volumes have the snapshots that were
 *    copied, except those that were destroyed.
 * 7. The snapshots of the former volume are destroyed, which is a deleted volume as any other then.
 *    The snapshot of step 1 and DETACH_PROPERTY are removed.
 *
 * Functions run zfs(8) and return 0, or -1 with *err.
 */

#include "node/host/node.h"

#define DETACH_PROPERTY "zcsi:detach"
#define DETACH_FOLDER   "_detach"
#define DETACH_SNAPSHOT "_detach-"

/* Give up a detach before step 4: destroy the copy, and remove the marks from the volume. */
int detach_end_discard(struct arena *arena, const char *parent, const char *name,
		       struct error *err);
/*
 * Lock the origin keys of the volume and of the former one, so that no snapshot of them is
 * destroyed, and the former one is not reaped. detach_end_unlock makes the reaper run.
 */
int detach_end_lock(const struct node *node, struct arena *arena, int64_t deadline,
		    const char *name, const char *former, struct error *err);
void detach_end_unlock(const struct node *node, struct arena *arena, const char *name,
		       const char *former);
/* Take steps 6 and 7. Both keys are locked. mark: the value of DETACH_PROPERTY of the volume. */
int detach_end_finish(const struct node *node, struct arena *arena, const char *name,
		      const char *mark, struct error *err);
/* End the detaches that an earlier zcsi-node began, after the first reading of the pool. */
int detach_end_earlier(const struct node *node, struct arena *arena, int64_t deadline,
		       struct error *err);

#endif
