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
	struct incoming_run *run; /* the stream that runs, or NULL; loop thread only */
	struct error cancelled;   /* why streams are to fail; ERR_OK: no reason; loop thread only */
};

/*
 * Write the stream of ReadBackup to fd, and close fd at the end. Returns 0, or -1 with *err: the
 * error of the other node, or of the connection, or of a write to fd. Blocks for hours: not on the
 * loop's thread.
 */
int incoming_read(struct incoming *incoming, struct client *client,
		  const ReadBackupRequest *request, int fd, struct error *err);
/* Make the stream that runs and all further ones fail with *err. Loop thread only. */
void incoming_cancel(struct incoming *incoming, const struct error *err);

#endif
