/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_MERGE_H
#define ZCSI_CONTROLLER_MERGE_H

/*
 * The agents' lists as one: a page of what they hold together, in order of id, for the List RPCs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "controller/hosts.h"

/* The items to list. */
struct filter {
	const char *dataset_id; /* NULL: of all volumes */
	bool partial;           /* who does not answer is left out, and logged */
};

/* A kind of list that agents have, each in order of id. */
struct list_kind {
	const char *method;
	const char *what; /* "volumes", for the errors */
	const char *rpc;  /* whose tokens they are */
	/* Ask an agent for at most max items after an id. */
	const ProtobufCMessage *(*ask)(struct arena *arena, const struct filter *filter,
				       const char *after, int32_t max);
	/* The entry of an answer, and its id; NULL past the end. */
	const void *(*entry)(const void *response, size_t at, const char **ret_id);
	/* There is more after the last one. */
	bool (*more)(const void *response);
};

struct listed {
	const char *id;
	const void *entry;
	const struct host *host;
	const struct host *twin; /* another one that has the same id; NULL is as it should be */
};

struct page {
	struct listed *list;
	size_t n;
	char *next_token; /* "": the list ends here */
};

/*
 * max_entries 0 is no limit. ERR_INVALID_ARGUMENT: it is negative; ERR_ABORTED: the token is none
 * of this list; ERR_UNAVAILABLE and ERR_FAILED_PRECONDITION: an agent did not list what it has.
 */
int merge_page(struct rpc_call *call, const struct list_kind *kind, const struct filter *filter,
	       int32_t max_entries, const char *starting_token, struct page *ret,
	       struct error *err);
/* The id that a token stands for; "" for none. */
int merge_token(struct arena *arena, const struct list_kind *kind, const char *token,
		const char **ret, struct error *err);

#endif
