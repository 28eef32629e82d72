/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_TROUBLES_H
#define ZCSI_NODE_HOST_TROUBLES_H

/*
 * The volumes for which a thread cannot do its work, and why. The thread notes them in rounds; a
 * volume that is not noted in a round is well again. Any thread.
 */

#include <pthread.h>

#include "common/mem.h"
#include "proto/agent.h"

struct trouble;
struct troubles {
	pthread_mutex_t lock; /* protects the list */
	struct trouble *first;
};

void troubles_init(struct troubles *troubles);
void troubles_fini(struct troubles *troubles);
/* Note the trouble of a volume in this round. remedy: the command that mends it, or "". */
void troubles_note(struct troubles *troubles, const char *id, const char *text, const char *remedy);
/* End a round: forget the volumes that were not noted in it. */
void troubles_end_round(struct troubles *troubles);
/* Returns the trouble of a volume, in the arena; NULL if it has none. troubles may be NULL. */
Trouble *troubles_find(struct troubles *troubles, struct arena *arena, const char *id);

#endif
