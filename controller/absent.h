/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_ABSENT_H
#define ZCSI_CONTROLLER_ABSENT_H

/*
 * Hosts whose agent left the list of agents, and the names that they had. The volumes of such a
 * host still exist on it, so their names are neither missing nor free. Not thread-safe.
 */

#include "controller/names.h"

struct absent {
	struct absent *next;
	char *node_id, *endpoint, *dataset;
	uint64_t pool_guid; /* 0: not known */
	int64_t since;      /* when the agent left the list, in seconds since 1970 */
	struct names names; /* names that the host had; not known if their version is 0 */
};

/* Add a copy of *host, in place of an earlier record of its node. Takes over host->names. */
void absent_add(struct absent **list, struct absent *host);
/* Returns the record of a node, or NULL. */
struct absent *absent_node(struct absent *list, const char *node_id);
/* Returns true if it is not known which names the host had: it may have had any. */
bool absent_is_unknown(const struct absent *absent);
/* Returns a host that had the name of this hash, or may have had it, or NULL. */
const struct absent *absent_with(const struct absent *list, uint64_t hash);
/*
 * Call it when a host has answered. If the list has a record of its node id, or of its dataset and
 * pool under another node id, remove the record, move the names in it to *names, and return true.
 */
bool absent_return(struct absent **list, const char *node_id, const char *dataset,
		   uint64_t pool_guid, struct names *names);
/* Forget the host of this node, if it is in the list, and log that. */
void absent_forget(struct absent **list, const char *node_id);
/* Forget all hosts. */
void absent_fini(struct absent **list);

#endif
