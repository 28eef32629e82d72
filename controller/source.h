/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_SOURCE_H
#define ZCSI_CONTROLLER_SOURCE_H

/* volume_content_source: the snapshot or volume that a new volume is cloned from. */

#include "controller/agents.h"
#include "proto/agent.h"
#include "proto/csi.h"

/* The id of the snapshot or of the volume; the other one is "". Both are "" without a source. */
struct source {
	const char *snapshot, *volume;
};

/*
 * Parse the field of a request; NULL gives no source. Returns 0 with *ret pointing into the
 * message, or -1 with ERR_INVALID_ARGUMENT if the message has no id.
 */
int source_parse(const VolumeContentSource *message, struct source *ret, struct error *err);
/* Returns true if there is a source. */
bool source_given(const struct source *source);

struct source_found {
	const struct agent *agent; /* the agent that has the source */
	int64_t size;              /* the smallest size of a clone, in bytes */
	const char *format;        /* the format of a clone (common/volume/format.h) */
};

/* Search all agents for the source. Fails like owner_get and snapshot_get. */
int source_find(struct rpc_call *call, const struct source *source, struct source_found *ret,
		struct error *err);

/* Returns the source recorded in the dataset. */
struct source source_of(const Dataset *dataset);
bool source_equal(const struct source *a, const struct source *b);
/* Returns "snapshot 's'", "volume 'v'" or "none", for error texts. */
const char *source_name(struct arena *arena, const struct source *source);
/* Returns CSI's message for the source, in the arena; NULL if there is none. */
VolumeContentSource *source_message(struct arena *arena, const struct source *source);

#endif
