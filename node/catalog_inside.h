/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CATALOG_INSIDE_H
#define ZCSI_CATALOG_INSIDE_H

/* The catalog as its own three files see it: what it knows, what changes, how it reads. */

#include <pthread.h>

#include "node/catalog_change.h"

enum catalog_state { CATALOG_LOADING, CATALOG_READY, CATALOG_PROBLEM };

/* Something was put in, or what had this id and name went; one of the three. */
struct change {
	struct dataset *dataset;
	struct snapshot *snapshot;
	char *id, *zfs_name;
};

struct target {
	char *id, *zfs_name;
};

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
	char *problem;
	struct holdings holdings;
	int64_t available;
	uint64_t pool_guid;

	int64_t due; /* when to read the pool next */
	int64_t retry_ms;
	uint64_t readings_begun, readings_done;
	struct target *stale; /* what the agent changed and nobody read since */
	size_t n_stale;
	int64_t stale_due;
	bool reap_due;
	char **origins; /* of the last reading */
	size_t n_origins;

	unsigned readers;       /* readings that run */
	struct change *journal; /* all changes since the first of them began */
	size_t n_journal;

	char **claims;
	size_t n_claims;
};

/* All with the mutex. */

/* False when the deadline has passed. */
bool catalog_wait(struct catalog *catalog, int64_t deadline);
int catalog_ready(struct catalog *catalog, int64_t deadline, struct error *err);

/* Make a change and, while somebody reads, remember it; the change is handed over. */
void change_make(struct catalog *catalog, struct change change);
/* Somebody begins to read: where the journal is; and has taken note of it. */
size_t change_mark(struct catalog *catalog);
void change_unmark(struct catalog *catalog);
/* Since the mark, this name was changed; or make all changes since in other holdings. */
bool change_since(const struct catalog *catalog, size_t mark, const char *zfs_name);
void change_replay(const struct catalog *catalog, size_t mark, struct holdings *holdings);
/* To be read again soon. */
void change_stale(struct catalog *catalog, const char *id, const char *zfs_name);
void change_fini(struct catalog *catalog);

/* The thread. */
void *catalog_run(void *catalog);

#endif
