/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_FLEET_H
#define ZCSI_CLI_FLEET_H

/*
 * The agents that a command asks. It asks all of them at once, so one that is down costs a command
 * its --timeout once. Answers live in the arena. Main thread only.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"
#include "common/options.h"
#include "proto/agent.h"
#include "transport/trust.h"

struct fleet;

struct fleet_options {
	const struct option_list *named; /* --agent */
	const char *file;                /* --agents-file; NULL: none */
	const struct trust *trust;       /* opened */
	int64_t timeout_ms;              /* limit of one question to all agents */
};

/* Returns 0 with *ret set, or -1: an endpoint is malformed, or the file cannot be read. */
int fleet_open(struct fleet **ret, const struct fleet_options *options, struct error *err);
void fleet_close(struct fleet *fleet);

/* An agent, and its identity as it says, or why it does not. */
struct member {
	const char *endpoint;
	const GetHostResponse *host; /* NULL if it does not answer */
	const char *node;            /* the node id, or the endpoint if it does not answer */
	struct error error;
};

/* Ask every agent for its identity. *ret_n is their number, at least 1. */
struct member *fleet_members(struct fleet *fleet, struct arena *arena, size_t *ret_n);

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
			    const struct fleet_list *list, const void *arg, size_t *ret_n);

#endif
