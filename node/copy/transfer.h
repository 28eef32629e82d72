/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_TRANSFER_H
#define ZCSI_NODE_COPY_TRANSFER_H

/*
 * Replica.Receive as its caller sees it: the bytes of a descriptor go to another zcsi-node, and its
 * answer comes back. The loop moves the bytes, while the thread that called waits.
 */

#include "common/error.h"
#include "common/mem.h"
#include "proto/copy.h"
#include "transport/client.h"

/* The progress of a push. Any thread. */
struct transfer_progress {
	_Atomic int64_t begun;        /* now_ms() value; 0: nothing is sent yet */
	_Atomic uint64_t sent, total; /* bytes of all its streams; total is an estimate */
};

struct transfer {
	struct loop *loop;
	struct client *client; /* to the node that receives */
	const ReceiveHeader *header;
	struct transfer_progress *progress;
	uint64_t rate; /* bytes a second at most; 0: no limit */

	/* Private to transfer.c from here on. */
	uint64_t sent;            /* bytes of all streams that have ended */
	struct transfer_run *run; /* loop thread only; NULL if no transfer runs */
	struct error cancelled;   /* loop thread only; code ERR_OK: not cancelled */
};

/*
 * Send all bytes of fd, which is closed. *ret is the state of the copy, in the arena. Returns 0, or
 * -1 with the error of the other node, or why it was not reached. Blocks for hours: not on the
 * loop's thread.
 */
int transfer_run(struct transfer *transfer, struct arena *arena, int fd, CopyState **ret,
		 struct error *err);
/* Make transfer_run, which another thread is in or will call, fail with *err. Loop thread only. */
void transfer_cancel(struct transfer *transfer, const struct error *err);

#endif
