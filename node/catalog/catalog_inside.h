/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_CATALOG_INSIDE_H
#define ZCSI_NODE_CATALOG_CATALOG_INSIDE_H

/* The catalog as its own files see it: what it knows, what changes, how it reads. */

#include <pthread.h>

#include "node/catalog/change.h"
#include "node/catalog/journal.h"

/* PROBLEM: the pool cannot be read, or a zfs is hung, which may yet change what was read. */
enum catalog_state { CATALOG_LOADING, CATALOG_READY, CATALOG_PROBLEM };

struct catalog {
	char *parent;
	int64_t rescan_ms;
	void (*reap)(struct catalog *catalog, void *arg);
	void *reap_arg;
	pthread_t thread;
	bool started;

	pthread_mutex_t mutex; /* all that follows */
	pthread_cond_t changed;
	bool stopping;
	enum catalog_state state;
	bool hung;     /* a PROBLEM, until none is and all was read after that */
	char *problem; /* why it is not ready; "" when it is */
	struct inventory inventory;
	int64_t available, read; /* bytes; when all was read last, in seconds since 1970 */
	uint64_t pool_guid;

	bool told;      /* others' changes are */
	int64_t due;    /* when to read the pool next */
	bool lost;      /* at once, were it not for */
	int64_t rested; /* when it may be read again unless somebody asks for it */
	int64_t retry_ms;
	uint64_t readings_begun, readings_done;
	struct target *stale; /* what was changed and nobody read since */
	size_t n_stale;
	int64_t stale_due; /* when to read that, and the parent */
	bool reap_due;
	char **origins; /* of the last reading, and not taken since */
	size_t n_origins;

	unsigned readers;       /* readings that run */
	struct change *journal; /* all changes since the first of them began */
	size_t n_journal;

	char **claims;
	size_t n_claims;
};

/* Suspend answers because a zfs is hung, until it has ended and the whole pool was read again. */
void catalog_suspend(void *catalog, const char *problem);

/* All that follow, with the mutex. */

/* False when the deadline has passed. */
bool catalog_wait(struct catalog *catalog, int64_t deadline);
int catalog_ready(struct catalog *catalog, int64_t deadline, struct error *err);

/*
 * Read the parent and these names, and make what they are now a change. Gives up the mutex while
 * zfs runs. -1: what is wrong with the pool.
 */
int read_names(struct catalog *catalog, struct target *targets, size_t n, struct error *err);
/* The thread. */
void *catalog_run(void *catalog);

#endif
