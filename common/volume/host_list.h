/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_HOST_LIST_H
#define ZCSI_VOLUME_HOST_LIST_H

/*
 * The hosts of the cluster, as controllers and agents exchange them (agent.proto: KnownHost). The
 * later change of a host replaces the earlier one, in whatever order they arrive, so all copies
 * become the same. Not thread-safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_LIST_MAX 4000 /* hosts, so that all fit into one message */
#define HOST_TEXT_MAX 300  /* bytes of a node id, an endpoint or a dataset */

struct host_row {
	char *node_id, *endpoint, *dataset;
	uint64_t pool_guid; /* 0: not known */
	int64_t since;      /* when its agent left a list of agents, seconds since 1970; 0: never */
	uint64_t stamp;     /* microseconds since 1970 at the last change */
	bool forgotten;     /* the names of its volumes may be used again */
	uint64_t order;     /* host_list.order after the last change */
};

struct host_list {
	struct host_row *rows; /* in order of node id; the list owns the texts */
	size_t n;
	uint64_t order;  /* increases with each change of the list */
	uint64_t digest; /* hash of the node ids and stamps; 0 if the list is empty */
};

void host_list_fini(struct host_list *list);
/* Returns the row of a node, or NULL. It is valid until the list changes. */
const struct host_row *host_list_find(const struct host_list *list, const char *node_id);
/* Change the row of row->node_id to a copy of *row with a later stamp, or add it. */
void host_list_set(struct host_list *list, const struct host_row *row);
/* Copy a row of another list, unless it is invalid, or this list has a row as new for its node. */
void host_list_merge(struct host_list *list, const struct host_row *row);

#endif
