/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONDITION_H
#define ZCSI_CONDITION_H

/* Is a volume as it should be? Judged from what was found; nothing here looks at the host. */

#include <stdbool.h>

#include "node/mount/mount.h"
#include "proto/csi.h"

struct condition_facts {
	const struct mount *mount; /* the volume's at the path that was asked about; NULL: none */
	const struct mount *top;   /* what is on top there: the same, or what covers it */
	int error;                 /* errno when asked how full it is; ETIMEDOUT: no answer */
	bool frozen; /* the filesystem itself takes no writes, whatever the mount says */
	const char *pool_problem; /* "" when the pool can be read */
	bool has_dataset;         /* the pool has it; only said when it can be read */
};

struct condition {
	VolumeHealthErrorType status;
	const char *reason; /* for machines; static */
	const char *text;   /* for people; in the arena */
};

/* The worst that is wrong; false when nothing is. */
bool condition_judge(struct arena *arena, const struct condition_facts *facts,
		     struct condition *ret);

#endif
