/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_PLACEMENT_H
#define ZCSI_CONTROLLER_PLACEMENT_H

/* Placement of a new volume. Pure: a function of the hosts' answers and the request. */

#include <stdbool.h>

#include "common/error.h"
#include "controller/hosts.h"
#include "proto/csi.h"

/* The places that a request allows. A NULL member allows all. */
struct where {
	const TopologyRequirement *topology;
	const char *node, *pool; /* the parameters of that name */
	bool local;              /* it is used where it is */
};

/* The host has a pool, and it can be used. */
bool placement_usable(const GetHostResponse *host);
/* The host has every segment of the topology; NULL and no segments ask for nothing. */
bool placement_reaches(struct arena *arena, const GetHostResponse *host, const Topology *topology);
/*
 * Returns true if the host is the node, and has the pool and the attach mode, that the parameters
 * name.
 */
bool placement_pinned(const GetHostResponse *host, const struct where *where);
/*
 * Returns true if a pinned host is also in one of the requisite topologies. An empty requirement
 * allows all.
 */
bool placement_allowed(struct arena *arena, const GetHostResponse *host, const struct where *where);
/*
 * Returns the request in words, in the arena: " on node 'n' in accessibility_requirements
 * (rack=1)".
 */
char *placement_asked(struct arena *arena, const struct where *where);

/*
 * The host for a new volume of that name, one of hosts->list. ERR_RESOURCE_EXHAUSTED says what was
 * asked and what there is; ERR_UNAVAILABLE what is wrong with the only pools that fit.
 */
int placement_choose(struct arena *arena, const struct hosts *hosts, const char *name,
		     const struct where *where, const struct host **ret, struct error *err);

#endif
