/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_PAIR_H
#define ZCSI_NODE_STREAM_PAIR_H

#include "node/stream/rounds.h"

/* `zfs send` and a `zfs receive` on the same host, which reads what the first one writes. */
struct pair {
	const char *const *send, *const *receive; /* the command lines of both */
	struct rounds *rounds;                    /* the end of these rounds kills both programs */
};

/*
 * Run both programs of the pair to their ends. Returns 0, or -1 with *err. Blocks for hours: on the
 * thread of pair->rounds only.
 */
int pair_run(const struct pair *pair, struct error *err);

#endif
