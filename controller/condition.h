/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_CONDITION_H
#define ZCSI_CONTROLLER_CONDITION_H

/* The condition of a volume, which includes that of its host's pool. Any worker thread. */

#include "controller/hosts.h"
#include "proto/csi.h"

struct condition {
	VolumeHealthErrorType status;
	const char *reason; /* one word, such as "ExistsTwice"; NULL if the volume is healthy */
	char *message;      /* for a person; NULL if the volume is healthy */
};

/*
 * Returns the condition of a volume on the host; its message is in the arena. twin: another host
 * that has a volume with the same id, or NULL.
 */
struct condition condition_of(struct arena *arena, const struct host *host,
			      const struct host *twin);
/* Returns the same as the message that CSI 1.12 has instead of the health RPCs; in the arena. */
VolumeCondition *condition_message(struct arena *arena, const struct host *host,
				   const struct host *twin);

#endif
