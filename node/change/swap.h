/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_SWAP_H
#define ZCSI_NODE_CHANGE_SWAP_H

/*
 * How a rollback exchanges the dataset of a volume for a clone of a snapshot. The last step
 * that was taken can be read from ZFS alone:
 *
 *	pool/parent/vol                   the volume
 *	pool/parent/_trash/new-vol        the clone, with SWAP_PROPERTY
 *	pool/parent/_trash/old-vol-<guid> the former volume
 *
 * 1. The clone is made. A zcsi-node that finds it beside the volume destroys it.
 * 2. The volume is renamed to the former one. From here on a rollback is finished, not given up.
 * 3. The clone is renamed to the volume.
 * 4. The volume is promoted, so that it owns its earlier snapshots again.
 *
 * Functions run zfs(8) and return 0, or -1 with *err.
 */

#include "node/host/node.h"

/*
 * A property that a clone keeps: the guid of the former volume, "+", and the bytes that ZFS counted
 * as written in the new clone.
 */
#define SWAP_PROPERTY "zcsi:rollback"

struct swap {
	const char *name;  /* name of the volume */
	const char *clone; /* name of the clone */
	const char *former;
};

/* Returns the names for a volume with this name and guid, in the arena. */
struct swap swap_of(struct arena *arena, const char *parent, const char *name, uint64_t guid);
/* Destroy the clone of step 1, if there is one. Fails if the volume is missing. */
int swap_discard(const struct swap *swap, struct error *err);
/*
 * Take steps 2 and 3 of a rollback, or of a detach, whose copy is the clone. The former dataset is
 * kept for TRASH_KEEP_S. If the second rename fails, the volume gets its dataset back. *ret_missing
 * after an error: ZFS does not show that the volume has its dataset, and it may have none now, or
 * soon. Then the volume is to be closed until the next zcsi-node ends the exchange.
 */
int swap_exchange(struct rpc_call *call, const struct swap *swap, struct dataset *volume,
		  bool *ret_missing, struct error *err);
/*
 * Take step 4; OK if it is done already. Each dataset that gives snapshots away is locked by its
 * origin key meanwhile; the caller has locked that of the volume. Waits for the end of the
 * catalog's first reading, which would have the snapshots under their former names. Any thread but
 * the catalog's.
 */
int swap_promote(struct catalog *catalog, struct arena *arena, int64_t deadline, const char *name,
		 const char *id, struct error *err);
/* Finish the rollbacks that an earlier zcsi-node has begun, after the first reading of the pool. */
int swap_finish_earlier(struct catalog *catalog, struct arena *arena, int64_t deadline,
			struct error *err);

#endif
