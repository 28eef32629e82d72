/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_COPY_H
#define ZCSI_NODE_COPY_COPY_H

/*
 * The streams of zcsi.v1.Copy that run. Loop thread only.
 */

#include "transport/workers.h"

#define COPY_STREAMS_MAX 4 /* streams at a time */

struct sending; /* node/copy/send.c */

struct copies {
	struct workers *workers; /* start and end the programs of streams */
	struct sending *sending; /* the list of the streams that are sent */
	unsigned n_sending;
};

/* End all streams with ERR_UNAVAILABLE, because zcsi-node is stopping. */
void copy_stop(struct copies *copies);

#endif
