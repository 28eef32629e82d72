/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_ASIDES_H
#define ZCSI_NODE_HOST_ASIDES_H

/*
 * The volumes of which this host has data put aside, in datasets below _diverged, as its pool was
 * read last: hashes of their ids (common/volume/name.h). A struct that is zero but for its lock
 * stands for a pool that was not read yet. Any thread.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"

#define ASIDES_MAX 1024 /* volumes whose ids are kept, at most */

struct asides {
	pthread_mutex_t lock;
	uint64_t begun; /* the number of the last reading */
	uint64_t read;  /* the number of the reading that is kept; 0: none */
	size_t count;   /* how many datasets were put aside, several of one volume too */
	uint64_t ids[ASIDES_MAX];
	size_t n;
};

/* Returns the number of a reading that begins now, for asides_put; never 0. */
uint64_t asides_begin(struct asides *asides);
/*
 * Keep what a reading has found: the id of the volume of each dataset. Does nothing if a reading
 * that began later has ended.
 */
void asides_put(struct asides *asides, uint64_t reading, const char *const *ids, size_t n);
/* Returns how many datasets are put aside; -1: the pool was not read yet. */
long asides_count(struct asides *asides);
/* *ret is the hashes of the volumes' ids, in the arena. Returns their number. */
size_t asides_list(struct asides *asides, struct arena *arena, uint64_t **ret);

#endif
