/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CSI_REQUEST_H
#define ZCSI_NODE_CSI_REQUEST_H

/*
 * Checks of requests. Functions return 0, or -1 with *err, whose text says what to give instead.
 * Any worker thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "proto/csi.h"
#include "node/mount/mount.h"
#include "node/host/node.h"

struct mount_request {
	uint64_t attrs;     /* MOUNT_ATTR_ bits; read-only if the access mode is */
	bool one_target;    /* the access mode allows one target on a node */
	const char *format; /* common/volume/format.h; "": any format that mounts */
	const char *group;  /* volume_mount_group, or "" */
	char *const *flags; /* all mount flags, those of NFS included */
	size_t n_flags;
};

/*
 * Check a capability and parse it into *ret, whose pointers are the capability's.
 * ERR_INVALID_ARGUMENT if the access mode, the fs_type or a mount flag is unknown, or if the
 * capability asks for neither block nor mount.
 */
int request_capability(const VolumeCapability *capability, struct mount_request *ret,
		       struct error *err);
/*
 * ERR_FAILED_PRECONDITION if a volume of this format cannot be used as `want` asks. is: NULL if the
 * mount is none of zcsi.
 */
int request_fits(const struct mount_request *want, const struct format *is, struct error *err);

/*
 * Find the mount of the volume `id` at the path, a staging or a target. *ret is a row of
 * *ret_table, in the call's arena. ERR_INVALID_ARGUMENT if id or path is empty, ERR_NOT_FOUND if
 * the volume is not mounted there.
 */
int mounted_find(struct rpc_call *call, const char *id, const char *path,
		 struct mount_table *ret_table, const struct mount **ret, struct error *err);

#endif
