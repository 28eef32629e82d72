/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_SOURCE_H
#define ZCSI_CONTROLLER_SOURCE_H

/* volume_content_source: what a new volume is cloned from. */

#include "controller/agents.h"
#include "proto/agent.h"
#include "proto/csi.h"

/* Ids, "" for none; at most one is not. */
struct source {
	const char *snapshot, *volume;
};

/* message may be NULL: the volume is made empty. ERR_INVALID_ARGUMENT: it names nothing. */
int source_parse(const VolumeContentSource *message, struct source *ret, struct error *err);
bool source_given(const struct source *source);

struct source_found {
	const struct agent *agent; /* who has it */
	int64_t size;              /* that a clone has at least */
	const char *format;        /* that a clone has too (common/volume/format.h) */
};

/* ERR_NOT_FOUND: it does not exist. */
int source_find(struct rpc_call *call, const struct source *source, struct source_found *ret,
		struct error *err);

struct source source_of(const Dataset *dataset);
bool source_equal(const struct source *a, const struct source *b);
/* "snapshot 's'", "volume 'v'", "none". In the arena. */
const char *source_name(struct arena *arena, const struct source *source);
/* For the answer; NULL when there is none. In the arena. */
VolumeContentSource *source_message(struct arena *arena, const struct source *source);

#endif
