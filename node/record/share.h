/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_SHARE_H
#define ZCSI_NODE_RECORD_SHARE_H

/*
 * The paths that volumes are exported at by NFS: SHARE_FOLDER/<ZFS name>, on every host. So the
 * source of an NFS mount names its volume. The folder is empty after a boot. Any thread.
 */

#include <stdbool.h>

#include "common/mem.h"

#define SHARE_FOLDER "/run/zcsi-nfs"

/* Returns SHARE_FOLDER/pool/parent/leaf, in the arena. */
char *share_path(struct arena *arena, const char *dataset);

/* SHARE_FOREIGN: an export that zcsi did not make. */
enum share_kind { SHARE_OF_VOLUME, SHARE_OF_OTHER_VOLUME, SHARE_FOREIGN };

/*
 * Returns whether `source`, "server:/path" of an NFS mount, is the export of this volume. Only the
 * last component of `dataset` is compared, because pool and parent differ between hosts.
 */
enum share_kind share_kind(const char *source, const char *dataset);

#endif
