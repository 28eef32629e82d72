/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HOST_VOLUME_LOCAL_H
#define ZCSI_HOST_VOLUME_LOCAL_H

/* The zcsi-node of this host, and calls to it. Answers live in the arena. */

#include <stdint.h>

#include "common/mem.h"
#include "controller/cli/fleet.h"

struct local {
	struct arena *arena;
	struct fleet *fleet; /* only the agent of this host */
	int64_t deadline;    /* when all calls have to end, by now_ms */
	struct member *self;
};

/* Ask the zcsi-node who it is. Returns 0, or -1 with *err: it does not answer, or has no pool. */
int local_meet(struct local *local, struct error *err);
/* Call a method. *ret_response is its answer. Returns 0, or -1 with the error of the call. */
int local_ask(struct local *local, const char *method, const ProtobufCMessage *request,
	      void *ret_response, struct error *err);
/*
 * Find the volume with Nomad's id, whatever its name is now. *ret is NULL if there is none. Returns
 * 0, or -1 with *err if zcsi-node did not list all volumes.
 */
int local_find(struct local *local, const char *id, const Dataset **ret, struct error *err);

#endif
