/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_COPY_H
#define ZCSI_NODE_COPY_COPY_H

/*
 * The streams of zcsi.v1.Copy that run. Loop thread only.
 */

#include "transport/workers.h"

struct program_stream; /* node/copy/program_stream.h */

struct copies {
	struct workers *workers;        /* start and end the programs of streams */
	struct program_stream *streams; /* those that run */
};

/* End all streams with ERR_UNAVAILABLE, because zcsi-node is stopping. */
void copy_stop(struct copies *copies);

#endif
