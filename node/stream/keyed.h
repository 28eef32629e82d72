/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_KEYED_H
#define ZCSI_NODE_STREAM_KEYED_H

#include "node/stream/copies.h"

/*
 * Run a function as a call that is keyed by the id of a volume (node/service.h): all earlier calls
 * for the volume have ended, and later ones wait for it. Waits for its end. Any thread but the
 * loop's and the workers.
 */
void keyed_run(struct copies *copies, const char *id, void (*fn)(void *arg), void *arg);

#endif
