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

struct names {
	uint64_t version; /* GetHostResponse.names when they were read; 0: never read */
	uint64_t *hashes; /* ascending */
	size_t n;
	uint64_t *added;        /* since the last reading began, in any order */
	size_t n_added, n_kept; /* n_kept: how many of them precede that reading */
};

void names_fini(struct names *names);
bool names_have(const struct names *names, uint64_t hash);
void names_add(struct names *names, uint64_t hash);
/* A reading begins: what is added from now on may be missing in its result. */
void names_begin(struct names *names);
/* The reading has ended: take over its result, n hashes in ascending order. */
void names_take(struct names *names, uint64_t version, const uint64_t *hashes, size_t n);

#endif
