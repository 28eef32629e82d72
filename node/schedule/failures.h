/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_SCHEDULE_FAILURES_H
#define ZCSI_NODE_SCHEDULE_FAILURES_H

/*
 * The volumes of which the snapshot that is due cannot be taken, and why. A keeper notes them in
 * rounds; a volume that is not noted in a round is well again. Any thread.
 */

#include <pthread.h>

#include "common/mem.h"

struct failure;
struct failures {
	pthread_mutex_t lock; /* protects the list */
	struct failure *first;
};

void failures_init(struct failures *failures);
void failures_fini(struct failures *failures);
/* Note in this round that a volume's snapshot was not taken. */
void failures_note(struct failures *failures, const char *id, const char *error);
/* End a round: forget the volumes that were not noted in it. */
void failures_end_round(struct failures *failures);
/* Returns why the snapshot of a volume was not taken, in the arena; NULL if it was. */
const char *failures_find(struct failures *failures, struct arena *arena, const char *id);

#endif
