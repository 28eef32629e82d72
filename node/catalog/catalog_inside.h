/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CATALOG_CATALOG_INSIDE_H
#define ZCSI_NODE_CATALOG_CATALOG_INSIDE_H

/* The members of the catalog, and functions shared by its files. */

#include <pthread.h>

#include "node/catalog/change.h"
#include "node/catalog/device.h"
#include "node/catalog/journal.h"
#include "node/catalog/listener.h"

#define CATALOG_LOADING_TEXT "'%s' is still being read; try again"
/*
 * READING: the first reading runs, and the parent was read. VOLUMES: all volumes were read, and all
 * snapshots are being read. PROBLEM: the pool cannot be read, or a zfs that may change it is hung.
 */
enum catalog_state {
	CATALOG_LOADING,
	CATALOG_READING,
	CATALOG_VOLUMES,
	CATALOG_READY,
	CATALOG_PROBLEM
};

struct catalog {
	char *parent;
	int64_t rescan_ms;
	void (*reap)(struct catalog *catalog, void *arg);
	void *reap_arg;
	pthread_t thread;
	bool started;

	pthread_mutex_t mutex; /* protects all members below */
	pthread_cond_t changed;
	bool stopping;
	enum catalog_state state;
	bool hung;     /* a zfs is hung, so the state is PROBLEM; false once it has ended */
	char *problem; /* why the state is not READY; "" if it is */
	struct inventory inventory;
	struct catalog_listener *listeners; /* called after each change */
	uint64_t names;    /* version: increases with each change of the inventory and each start */
	int64_t available; /* bytes that a new volume could use */
	int64_t reserved;  /* bytes reserved for the parent */
	int64_t capacity;  /* bytes that the volumes use, and `available`; 0: unknown */
	int64_t read;      /* when the whole pool was last read, in seconds since 1970 */
	uint64_t pool_guid;
	char health[16];      /* health of the pool when all of it was last read (zfs_read_pool) */
	struct device device; /* the device because of which the pool is not ONLINE */
	bool follows;         /* `zpool events` runs, and reports the changes of other programs */
	int64_t due;          /* when to read the pool next */
	bool lost;            /* changes were missed: read the pool as soon as `rested` */
	int64_t rested;       /* the end of the pause after the last reading */
	int64_t retry_ms;
	uint64_t readings_begun, readings_done;
	struct target *stale; /* names that changed and were not read since */
	size_t n_stale;
	int64_t stale_due; /* when to read the stale names and the parent */
	bool reap_due;     /* the callback `reap` is to run */
	bool full;         /* a call failed for lack of space: read the parent, then run `reap` */
	uint64_t reaps_begun, reaps_done;
	char **origins; /* the snapshots that catalog_take_origins returns (change.h) */
	size_t n_origins;
	unsigned readers;       /* number of readings in progress */
	struct change *journal; /* all changes since the first of the readings in progress began */
	size_t n_journal;

	char **claims; /* the keys locked by catalog_lock_key */
	size_t n_claims;
};

/* All functions below are called with the mutex. */

/* Wait for a signal of `changed`. Returns false if the deadline has passed. */
bool catalog_wait(struct catalog *catalog, int64_t deadline);
/* Wait for the end of the first reading. Returns 0, or -1 with ERR_UNAVAILABLE and the problem. */
int catalog_ready(struct catalog *catalog, int64_t deadline, struct error *err);

#endif
