/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_SIZE_LIMITS_H
#define ZCSI_NODE_HOST_SIZE_LIMITS_H

/*
 * The limits of --overcommit and --limit: how many bytes the volumes of this node may promise
 * together. A volume promises its size, or what it uses if it has no quota. Copies, backups and
 * deleted volumes promise nothing. Any thread.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/options.h"
#include "node/host/node.h"

/* A limit for volumes whose ids begin with the prefix. Exactly one of the two numbers is set. */
struct size_limit {
	const char *prefix;  /* "": all volumes */
	int64_t thousandths; /* --overcommit: of the size of the pool */
	int64_t bytes;       /* --limit */
};

/* A volume that is being created or grown: its size counts already. */
struct pledge {
	const char *id;
	const char *former; /* the id that it has until it gets this one; NULL: none */
	int64_t size;
	struct pledge *next;    /* the members from here on are of size_limits.c */
	bool seen, former_seen; /* the catalog has a volume of this id */
};

struct size_limits {
	struct size_limit *rows;
	size_t n;
	pthread_mutex_t lock; /* protects the pledges */
	struct pledge *pledges;
};

/*
 * Parse the values of the two options; overcommit: "0" is no limit. *ret is allocated, with *ret_n
 * rows whose prefixes are too. Returns 0, or -1 with ERR_INVALID_ARGUMENT.
 */
int size_limits_parse(const char *overcommit, const struct option_list *list,
		      struct size_limit **ret, size_t *ret_n, struct error *err);
/* Free what size_limits_parse allocated, also after it has failed. */
void size_limits_free(struct size_limit *rows, size_t n);

/*
 * Count a volume before it is created, grown, renamed or taken out of the trash, until
 * size_limits_end.
 * Returns 0, or -1 with *err: ERR_RESOURCE_EXHAUSTED if a limit would be exceeded by more than it
 * is already. Waits for the first reading of the volumes.
 */
int size_limits_begin(struct rpc_call *call, struct pledge *pledge, struct error *err);
/* Call it after size_limits_begin has succeeded, and after the catalog has the change. */
void size_limits_end(struct rpc_call *call, struct pledge *pledge);
/* Returns how many bytes a volume promises. */
int64_t size_limits_promise(const struct dataset *dataset);

struct size_limit_state {
	const struct size_limit *limit;
	int64_t bytes; /* the limit */
	int64_t promised;
	const char *option; /* as it is given: "--limit a-=500" */
};

/*
 * *ret is the states of the limits, in the arena, without that of a pool of unknown size. Returns
 * how many there are. Never waits: call it after the pool was read. limits: of the node; NULL:
 * none.
 */
size_t size_limits_read(struct size_limits *limits, struct catalog *catalog, struct arena *arena,
			struct size_limit_state **ret);
/* Write the metrics of the limits. Call it after the pool was read. */
void size_limits_metrics_write(const struct node *node, FILE *out);

#endif
