/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ABSENT_H
#define ZCSI_CONTROLLER_ABSENT_H

/*
 * Hosts whose agent left the list, and the names that they had. A host that is away is not a host
 * without volumes: what it had is neither missing nor free. Not thread-safe.
 */

#include "controller/names.h"

struct absent {
	struct absent *next;
	char *node_id, *endpoint, *dataset;
	uint64_t pool_guid; /* 0: not known */
	int64_t since;      /* when the agent left the list, in seconds since 1970 */
	int64_t left;       /* the same moment in milliseconds (common/clock.h) */
	struct names names;
};

/* Remember a host, a copy of *host. Takes over its names. */
void absent_add(struct absent **list, struct absent *host);
/* Returns the record of a node, or NULL. */
struct absent *absent_node(struct absent *list, const char *node_id);
/* Returns a host that had the name of this hash, or NULL. */
const struct absent *absent_with(const struct absent *list, uint64_t hash);
/*
 * A host answers that is this node, or has this dataset of this pool under another name. If it is
 * in the list, forget it, and move the names that it had to *names.
 */
void absent_return(struct absent **list, const char *node_id, const char *dataset,
		   uint64_t pool_guid, struct names *names);
/* Forget the hosts that left more than after_ms milliseconds ago, and log that. */
void absent_expire(struct absent **list, int64_t after_ms);
/* Forget all hosts. */
void absent_fini(struct absent **list);

#endif
