/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_PLACEMENT_H
#define ZCSI_CONTROLLER_PLACEMENT_H

/*
 * Choosing the host of a new volume. Pure: the results depend only on the hosts' answers and on the
 * request.
 */

#include <stdbool.h>

#include "common/error.h"
#include "controller/hosts.h"
#include "proto/csi.h"

/* The restrictions in a request. A NULL member does not restrict. */
struct where {
	const TopologyRequirement *topology;
	const char *node, *pool; /* the parameters node and pool */
	const char *members;     /* the parameter members */
	bool local;              /* attach=local: only its own node can use the volume */
	bool exported;           /* attach=nfs: its host exports the volume to other nodes */
	bool zvol;               /* the volume is a block device, or has ext4 or XFS */
	bool encrypted;          /* the volume is encrypted, with a key of its own */
	int64_t size;            /* bytes that the volume promises; 0: not known */
};

/* Returns true if the host has a pool without a problem. */
bool placement_usable(const GetHostResponse *host);
/* Returns why the ZFS of the host cannot have or export the volume of `where`; NULL if it can. */
const char *placement_refusal(const GetHostResponse *host, const struct where *where);
/*
 * Returns how large a volume of this name may be by the limits of the host, SizeLimit; INT64_MAX if
 * it has none. name: NULL stands for one that begins with none of the prefixes.
 */
int64_t placement_room(const GetHostResponse *host, const char *name);
/* Returns true if the host has every segment of the topology, or the topology is NULL. */
bool placement_reaches(struct arena *arena, const GetHostResponse *host, const Topology *topology);
/* Returns true if the node is among the members, names with ',' between. */
bool placement_is_member(const char *members, const char *node_id);
/*
 * Returns true if the host is the required node, is a member if any are given, and has the required
 * pool and attach mode.
 */
bool placement_pinned(const GetHostResponse *host, const struct where *where);
/*
 * Returns true if placement_pinned is true and the host is in one of the requisite topologies, if
 * any are given.
 */
bool placement_allowed(struct arena *arena, const GetHostResponse *host, const struct where *where);
/*
 * Returns the restrictions in words, in the arena: " on node 'n' in accessibility_requirements
 * (rack=1)"; "" if there are none.
 */
char *placement_asked(struct arena *arena, const struct where *where);

/*
 * *ret is the host for a new volume of that name, an element of hosts->list. Returns 0, or -1:
 * ERR_RESOURCE_EXHAUSTED, which lists the restrictions and the pools, if no host is allowed, or the
 * reasons, if no allowed host can have the volume; or ERR_UNAVAILABLE, with the reason, if an
 * allowed host could take it but for a problem of its pool.
 */
int placement_choose(struct arena *arena, const struct hosts *hosts, const char *name,
		     const struct where *where, const struct host **ret, struct error *err);

#endif
