/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_NAMES_H
#define ZCSI_CONTROLLER_NAMES_H

/*
 * The names that one agent has, as hashes (common/volume/name.h). The roll call reads them again
 * after they changed; a name that this controller creates is added before the agent is asked to
 * create it. Not thread-safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/mem.h"

#define NAMES_KEEPERS 3

struct names {
	uint64_t version; /* GetHostResponse.names when they were read; 0: never read */
	uint64_t *hashes; /* in ascending order */
	size_t n;
	uint64_t *added;        /* added since the roll call of the last reading began */
	size_t n_added, n_kept; /* n_kept: those added before the last roll call */
	uint64_t barrier;       /* names created for claims up to it are in hashes or promised */
	uint64_t *promised;     /* names that the agent might still create for such a claim */
	size_t n_promised;
	int64_t read;     /* when the names were read, in microseconds since 1970 */
	uint64_t edition; /* increases with each reading that was taken over */
	unsigned asked;   /* roster.ups when all agents were asked for the names that they keep */
	struct {
		uint64_t keeper, edition;
	} given[NAMES_KEEPERS]; /* agents that keep the names, and which edition (roll_kept.c) */
};

void names_fini(struct names *names);
bool names_have(const struct names *names, uint64_t hash);
void names_add(struct names *names, uint64_t hash);
/* Note that a roll call begins: names added from now on may be missing in what the agent says. */
void names_begin(struct names *names);
/* The reading has ended: take over its result, n hashes in any order. */
void names_take(struct names *names, uint64_t version, const uint64_t *hashes, size_t n);
/*
 * Take the barrier and the n promised names of a GetHostResponse: the agent has, or may create, no
 * other names than the hashes and these for claims up to the barrier. If the barrier is 0, it may.
 */
void names_promise(struct names *names, uint64_t barrier, const uint64_t *promised, size_t n);
/* Returns true if the agent has the name, or may create it for a claim up to the barrier. */
bool names_may_have(const struct names *names, uint64_t hash);
/* *ret is all names, with those added and those promised, in the arena. Returns how many. */
size_t names_all(const struct names *names, struct arena *arena, uint64_t **ret);

#endif
