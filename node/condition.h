/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONDITION_H
#define ZCSI_CONDITION_H

/* Is a volume as it should be? Judged from what was found; nothing here looks at the host. */

#include <stdbool.h>

#include "node/mount.h"

struct condition_facts {
	const struct mount *mount; /* the volume's at the path that was asked about */
	const struct mount *top;   /* what is on top there: the same, or what covers it */
	int error;                 /* errno when asked how full it is; ETIMEDOUT: no answer */
	bool frozen; /* the filesystem itself takes no writes, whatever the mount says */
	const char *pool_problem; /* "" when the pool can be read */
	bool has_dataset;         /* the pool has it; only said when it can be read */
};

/* The worst that is wrong, in the arena; NULL when nothing is. */
const char *condition_problem(struct arena *arena, const struct condition_facts *facts);

#endif
