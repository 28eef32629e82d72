/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_PAIR_H
#define ZCSI_NODE_STREAM_PAIR_H

#include "node/stream/rounds.h"

/* `zfs send` and a `zfs receive` on the same host, which reads what the first one writes. */
struct pair {
	const char *const *send, *const *receive; /* their words */
	struct rounds *rounds;                    /* whose end interrupts them */
};

/*
 * Run both to their ends. Returns 0, or -1 with *err. Blocks for hours: on the thread of the rounds
 * only.
 */
int pair_run(const struct pair *pair, struct error *err);

#endif
