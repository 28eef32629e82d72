/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_BACKUP_INCOMING_H
#define ZCSI_NODE_BACKUP_INCOMING_H

/*
 * Backup.ReadBackup as its caller sees it: the bytes of another zcsi-node go to a descriptor. The
 * loop moves the bytes, while the thread that called waits.
 */

#include "common/error.h"
#include "proto/copy.h"
#include "transport/client.h"

struct incoming {
	struct loop *loop;
	struct incoming_run *run; /* loop thread only; NULL if no stream runs */
	struct error cancelled;   /* loop thread only; code ERR_OK: not cancelled */
};

/*
 * Write a stream to fd, which is closed. Returns 0, or -1 with the error of the other node, or why
 * it was not reached, or fd not written. Blocks for hours: not on the loop's thread.
 */
int incoming_read(struct incoming *incoming, struct client *client,
		  const ReadBackupRequest *request, int fd, struct error *err);
/* Make the stream that runs and all further ones fail with *err. Loop thread only. */
void incoming_cancel(struct incoming *incoming, const struct error *err);

#endif
