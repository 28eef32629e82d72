/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_NFS_H
#define ZCSI_NODE_ATTACH_NFS_H

/*
 * Shares of other hosts, mounted without a helper: by NFS 4.2 unless a mount flag says otherwise,
 * which needs neither statd nor rpcbind.
 */

#include <stdbool.h>

#include "node/attach/staging.h"

#define NFS_MOUNT_MS 30000 /* what a server that works needs at the very most */

/* Returns "server:/share" as the kernel and mountinfo write it; [] around an IPv6 address. */
char *nfs_source(struct arena *arena, const char *server, const char *share);

/* For struct staging. ERR_UNAVAILABLE: no answer in time, and nothing will be mounted later. */
int nfs_mount(const struct staging *staging, struct error *err);

#endif
