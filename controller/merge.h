/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_MERGE_H
#define ZCSI_CONTROLLER_MERGE_H

/*
 * Pages of the merged lists of all agents, in order of id, for the List RPCs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "controller/hosts.h"

/* The entries to list. */
struct filter {
	const char *dataset_id; /* list only snapshots of this volume; NULL or "": of all */
	bool partial;           /* leave out, and log, an agent that does not answer */
};

/* A kind of list that agents return in order of id: volumes or snapshots. */
struct list_kind {
	const char *method;
	const char *what; /* "volumes", for the error texts */
	const char *rpc;  /* "ListVolumes", the RPC that returns the tokens */
	/* Returns the request for at most max entries after an id. */
	const ProtobufCMessage *(*ask)(struct arena *arena, const struct filter *filter,
				       const char *after, int32_t max);
	/* Returns entry number `at` of a response, with *ret_id set; NULL past the end. */
	const void *(*entry)(const void *response, size_t at, const char **ret_id);
	/* Returns true if the agent has entries after the last one of the response. */
	bool (*more)(const void *response);
	/* Returns true if the entry counts only while no other agent has the id. NULL: never. */
	bool (*former)(const void *entry);
};

struct listed {
	const char *id;
	const void *entry;
	const struct host *host;
	const struct host *other_host; /* another host that has the same id, or NULL */
};

struct page {
	struct listed *list;
	size_t n;
	char *next_token; /* "" on the last page */
};

/*
 * *ret is the page of at most max_entries (0: no limit) that begins at the token, in the arena.
 * Returns 0, or -1: ERR_INVALID_ARGUMENT if max_entries is negative, ERR_ABORTED if the token is
 * not of this list, ERR_UNAVAILABLE or ERR_FAILED_PRECONDITION if an agent did not answer.
 */
int merge_page(struct rpc_call *call, const struct list_kind *kind, const struct filter *filter,
	       int32_t max_entries, const char *starting_token, struct page *ret,
	       struct error *err);
/*
 * *ret is the id after which the token's page begins; "" for an empty token. Returns 0, or -1 with
 * ERR_ABORTED if the token is not of this list.
 */
int merge_token(struct arena *arena, const struct list_kind *kind, const char *token,
		const char **ret, struct error *err);

#endif
