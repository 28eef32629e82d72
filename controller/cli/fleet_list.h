/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_FLEET_LIST_H
#define ZCSI_CLI_FLEET_LIST_H

/*
 * Finding an agent, and the lists of all agents as one. Answers live in the arena. Main thread
 * only.
 */

#include "controller/cli/fleet.h"

/* Returns the agent of a node, or NULL if no agent that answers is the node's. */
const struct member *fleet_node(const struct member *members, size_t n_members, const char *node);
/* Returns true if the host is among the members that answer, by its node id or its pool. */
bool fleet_has(const struct member *members, size_t n_members, const KnownHost *host);

/* A list that every agent has, in pages (ListDatasets, ListDatasetSnapshots). */
struct fleet_list {
	const char *method;
	/* Returns the request for the page after the id, "" for the first. */
	const ProtobufCMessage *(*ask)(struct arena *arena, const char *after, const void *arg);
	/* Returns the entries of a page, with *ret_n set; *ret_more: whether others follow. */
	void *const *(*entries)(const void *response, size_t *ret_n, bool *ret_more);
	const char *(*id)(const void *entry);
};

/* An entry of a list, and the agent that has it. */
struct owned {
	const struct member *owner;
	const void *entry;
	const char *id;
};

/*
 * Returns the entries of all agents that have a pool, by id and then by node; *ret_n is their
 * number. An agent that does not answer gets an error in members.
 */
struct owned *fleet_entries(struct fleet *fleet, struct arena *arena, struct member *members,
			    size_t n_members, const struct fleet_list *list, const void *arg,
			    size_t *ret_n);

#endif
