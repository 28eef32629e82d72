/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_REPAIR_SILENCE_H
#define ZCSI_NODE_REPAIR_SILENCE_H

/*
 * For how long nodes have not answered this zcsi-node. In memory: after a restart each silence
 * begins anew. Not thread-safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct silence {
	char *node;
	int64_t since; /* a now_ms() value */
	bool logged;   /* the reason why the node is not replaced was logged */
};

struct silences {
	struct silence *rows;
	size_t n;
};

/* silences_end: the node has answered. silences_begin: it has not, at the time `now`. */
void silences_end(struct silences *silences, const char *node);
void silences_begin(struct silences *silences, const char *node, int64_t now);
/* Returns the silence of a node, until the next change of the table; NULL: it answers. */
struct silence *silences_find(const struct silences *silences, const char *node);
/* Returns the seconds of the silence, at least 1; 0: it answers. */
int64_t silences_of(const struct silences *silences, const char *node, int64_t now);
/* Forget all, and free the table. */
void silences_clear(struct silences *silences);

#endif
