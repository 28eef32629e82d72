/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_RECALL_H
#define ZCSI_CONTROLLER_RECALL_H

/*
 * Who had a volume when it was last looked for, so that not everybody is asked each time. It counts
 * only while nobody has come or come back since, who might have the volume too; and what it says
 * is a guess, to be confirmed by asking. Any thread; zeroed memory remembers nothing.
 */

#include <pthread.h>
#include <stdint.h>

#define RECALL_MAX 4096

struct agent;

struct recall {
	pthread_mutex_t lock;
	struct memory {
		uint64_t id; /* its hash */
		unsigned epoch;
		const struct agent *agent;
	} list[RECALL_MAX];
};

/* NULL: nothing is known. The agent may be gone: it is only to be compared. */
const struct agent *recall_get(struct recall *recall, const char *id, unsigned epoch);
void recall_put(struct recall *recall, const char *id, unsigned epoch, const struct agent *agent);

#endif
