/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_COPY_H
#define ZCSI_NODE_COPY_COPY_H

/*
 * The state of zcsi.v1.Copy and zcsi.v1.Replica. The streams are for the loop thread only.
 */

#include "transport/workers.h"

struct program_stream; /* node/copy/program_stream.h */
struct pusher;         /* node/copy/pusher.h */

struct copies {
	struct loop *loop;
	struct workers *workers;        /* start and end the programs of streams */
	struct pusher *pusher;          /* NULL on a node without a pool */
	struct program_stream *streams; /* those that run */
};

/* End all streams with ERR_UNAVAILABLE, because zcsi-node is stopping. */
void copy_stop(struct copies *copies);

#endif
