/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_AGENT_CLAIMS_H
#define ZCSI_NODE_AGENT_CLAIMS_H

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
#define CLAIMS_VALID_MS 300000 /* how long a creation may begin for a promise */

/* The nodes where a name may have been created: of each the latest claim that was promised. */
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
		int64_t given;      /* when it was given (common/clock.h) */
		unsigned creations; /* calls that create the name for it now */
		struct claim_targets before;
	} list[CLAIMS_MAX];
	size_t next;      /* index of the oldest promise, which the next new one replaces */
	uint64_t floor;   /* no claim up to it gets a promise; 0 before the first lookup */
	uint64_t highest; /* the highest claim that was ever promised, or the highest barrier */
	uint64_t
		forgot; /* no promise that was replaced, or that ended with a process, was higher */
};

/* A claim: of an id, whose name has this hash, to create it at the target. */
struct claim {
	const char *id;
	uint64_t number, target, name;
};

/*
 * Promise the id to this claim. *ret_promised is the highest claim that the id may have been
 * promised to before, and *ret_before the targets of the earlier ones. Returns false if that is not
 * lower, or if the promise cannot be stored.
 */
bool claims_take(struct claims *claims, const struct claim *claim, uint64_t *ret_promised,
		 struct claim_targets *ret_before);
/*
 * Begin to create the id at this node. Returns true if its latest promise is to this claim, was not
 * replaced, is for this node, and is not too old. Then claims_end ends it.
 */
bool claims_begin(struct claims *claims, const char *id, uint64_t claim, uint64_t node);
void claims_end(struct claims *claims, const char *id);
/*
 * Promise no claim any more up to the one that is returned: the given one, or the highest that was
 * promised. 0 if it cannot be stored. *ret_names is the hashes of the names that may still be
 * created at this node for one of these claims, in the arena.
 */
uint64_t claims_barrier(struct claims *claims, uint64_t claim, uint64_t node, struct arena *arena,
			uint64_t **ret_names, size_t *ret_n);

#endif
