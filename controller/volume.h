/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_VOLUME_H
#define ZCSI_CONTROLLER_VOLUME_H

/* Converting a dataset to CSI's volume, and the volume's condition. Results are in the arena. */

#include <stdbool.h>

#include "common/volume/map.h"
#include "controller/agents_ask.h"
#include "controller/hosts.h"
#include "proto/agent.h"
#include "proto/csi.h"

/*
 * The key of parameters, volume_context and publish_context for the attach mode: local, only the
 * node that has the pool mounts the volume; nfs, other nodes mount it by NFS.
 */
#define ATTACH_KEY   "attach"
#define ATTACH_LOCAL "local"
#define ATTACH_NFS   "nfs"

/* Returns the attach mode of the volume. */
const char *volume_attach(struct arena *arena, const Dataset *dataset);
/*
 * Returns true if this volume_context is of an export of another storage system, with the keys of
 * democratic-csi.
 */
bool volume_is_foreign(const struct map *context);

/* Returns CSI's message for the volume. Only its capacity and its topology may change later. */
Volume *volume_of(struct arena *arena, const Dataset *dataset, const GetHostResponse *owner);
/* Returns the ids of the nodes that the volume is published to, dataset->n_published of them. */
char **volume_published_nodes(struct arena *arena, const Dataset *dataset);

/* A volume, its host and the answers of all hosts. */
struct volume_facts {
	const Dataset *dataset;
	const struct host *host;       /* the host that has the volume */
	const struct host *other_host; /* another one with a volume of this id, or NULL */
	struct said said;
};

struct condition {
	VolumeHealthErrorType status;
	const char *reason; /* a word, such as "ExistsTwice"; NULL if all is well */
	char *message;      /* for an operator; NULL if all is well */
};

#define CONDITIONS_MAX 2 /* the volume's own, and that of data put aside on other nodes */

/* All that is wrong with a volume, its host's pool or its copies; none if it is healthy. */
struct conditions {
	struct condition list[CONDITIONS_MAX];
	size_t n;
};

struct conditions volume_conditions(struct arena *arena, const struct volume_facts *facts);
/* Returns the conditions as the message that CSI 1.12 has instead of the health RPCs. */
VolumeCondition *volume_condition_message(struct arena *arena, const struct volume_facts *facts);

#endif
