/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_SHARE_H
#define ZCSI_NODE_RECORD_SHARE_H

/*
 * The path below which a host exports its volumes, each under its ZFS name. It says on every host
 * which volume an NFS mount is of, and it is forgotten at the end of each boot.
 */

#include <stdbool.h>

#include "common/mem.h"

#define SHARE_FOLDER "/run/zcsi-nfs"

/* SHARE_FOLDER/pool/parent/leaf */
char *share_path(struct arena *arena, const char *dataset);

/* What a mount's source "server:/path" tells: a share of this volume, of another, of strangers. */
enum share_kind { SHARE_OF_IT, SHARE_OF_ANOTHER, SHARE_FOREIGN };

/* Of the dataset's name only the last component counts: it is the volume's on every host. */
enum share_kind share_kind(const char *source, const char *dataset);

#endif
