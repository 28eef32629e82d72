/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_PULL_H
#define ZCSI_NODE_BACKUP_PULL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "node/backup/incoming.h"
#include "node/host/node.h"

/* A run: the backup of a volume gets a new snapshot of it. */
struct pull {
	const struct node *node;
	struct incoming *incoming;
	const char *id;   /* id of the volume */
	const char *from; /* node of the volume; "": one that had it at the last run */
	bool add;         /* make a backup if there is none */
	bool only_new;    /* with add: a backup that exists is not changed */
	int64_t every;    /* `every` and `keep` as in RunBackupRequest */
	const char *keep;
	bool only_rules; /* without add: set `every` and `keep`, and pull nothing */
};

/*
 * Bring the backup up to date. *ret_idle: nothing was to be pulled. Returns 0, also if the volume
 * has not changed, or -1 with *err. Blocks for hours: not on the loop's thread.
 */
int pull_run(const struct pull *pull, bool *ret_idle, struct error *err);

#endif
