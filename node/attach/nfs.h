/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_NFS_H
#define ZCSI_NODE_ATTACH_NFS_H

/*
 * Mounting NFS shares of other hosts, without mount.nfs. The default is NFS 4.2, which needs
 * neither statd nor rpcbind; the mount flag vers= selects another version.
 */

#include <stdbool.h>

#include "node/attach/staging.h"

#define NFS_MOUNT_MS 30000 /* the longest time that a working server takes to answer */

/*
 * Returns "server:/share", in the arena, as the kernel and mountinfo write it: an IPv6 address is
 * in brackets.
 */
char *nfs_source(struct arena *arena, const char *server, const char *share);

/*
 * The mount function of a struct staging (node/attach/staging.h). Blocks up to NFS_MOUNT_MS.
 * Returns 0, or -1 with *err: ERR_UNAVAILABLE if the server did not answer in time; a later answer
 * mounts nothing.
 */
int nfs_mount(const struct staging *staging, struct error *err);

#endif
