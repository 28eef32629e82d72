/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_CLAIMS_H
#define ZCSI_NODE_HOST_CLAIMS_H

/*
 * Claims: a controller's right to create a volume or a snapshot of a name. The controller looks up
 * the name at every agent, with a claim, and each agent promises to create nothing of that name for
 * an earlier claim. Then the controller asks one agent to create it. If two controllers place one
 * name in two pools at the same time, at least one of them is refused and looks the name up again
 * (agent.proto: claim).
 *
 * A zeroed struct is ready for use: the first lookup reads the highest promise of earlier processes
 * from the lock file. Any thread, once the lock file is locked.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"

#define CLAIMS_MAX      1024
#define CLAIMS_TARGETS  4
#define CLAIMS_VALID_MS 300000 /* the time after a promise in which its creation may begin */

/* The nodes where a name may have been created, each with the latest claim promised for it. */
struct claim_targets {
	struct claim_target {
		uint64_t node, claim; /* node: a hash, 0: not known; claim 0: unused */
	} list[CLAIMS_TARGETS];
	uint64_t forgot; /* claims up to this one may be missing */
};

struct claims {
	pthread_mutex_t lock;
	struct promise {
		uint64_t id; /* a hash; ids with the same hash share a promise */
		uint64_t claim, target;
		uint64_t name;      /* the hash of the name (common/volume/name.h) */
		int64_t given;      /* now_ms() when the promise was given */
		unsigned creations; /* the number of calls that create the name now */
		struct claim_targets before;
	} list[CLAIMS_MAX];
	size_t next;      /* index of the oldest promise, which the next new one replaces */
	uint64_t floor;   /* no claim up to it gets a promise; 0 before the first lookup */
	uint64_t highest; /* the highest claim that was ever promised, or the highest barrier */
	uint64_t forgot;  /* promises up to it may be missing: replaced, or lost at a restart */
};

/* A claim to create `id` at the target, the hash of a node (0: not known); name: its hash. */
struct claim {
	const char *id;
	uint64_t number, target, name;
};

/*
 * Promise the id to this claim. *ret_promised is the highest claim that the id may have been
 * promised to before. Returns false if this claim is not higher, if the id is being created, as by
 * a rename, or if the promise cannot be stored. Otherwise *ret_before is the targets of earlier
 * claims.
 */
bool claims_take(struct claims *claims, const struct claim *claim, uint64_t *ret_promised,
		 struct claim_targets *ret_before);
/*
 * Begin to create the id at this node. Returns true if its latest promise is to this claim, was not
 * replaced, is for this node, and is not too old. Then call claims_end later.
 */
bool claims_begin(struct claims *claims, const char *id, uint64_t claim, uint64_t node);
void claims_end(struct claims *claims, const char *id);
/*
 * Raise the floor: no claim up to the returned one gets a promise any more. Returns the higher of
 * `claim` and the highest promise so far, or 0 if it cannot be stored. *ret_names is the hashes of
 * the names that may still be created at this node for one of these claims, in the arena.
 */
uint64_t claims_barrier(struct claims *claims, uint64_t claim, uint64_t node, struct arena *arena,
			uint64_t **ret_names, size_t *ret_n);

#endif
