/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CSI_REQUEST_H
#define ZCSI_NODE_CSI_REQUEST_H

/* Checks of requests. Each failure says what to give instead. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "proto/csi.h"
#include "node/mount/mount.h"
#include "node/host/node.h"

struct mount_request {
	/* MOUNT_ATTR_*; an access mode that only reads has made it read-only */
	uint64_t attrs;
	bool one_target;    /* the access mode allows no second target on this node */
	const char *format; /* common/volume/format.h; "" is any that mounts */
	const char *group;  /* volume_mount_group, or "" */
	char *const *flags; /* all mount flags, for the way in which it is attached */
	size_t n_flags;
};

/*
 * ERR_INVALID_ARGUMENT unless the capability is one we can serve: a block device, or a mount with
 * an fs_type that there is and known mount flags; a known access mode. What it asks for is in *ret.
 */
int request_capability(const VolumeCapability *capability, struct mount_request *ret,
		       struct error *err);
/* ERR_FAILED_PRECONDITION when the volume is something else than what is asked for. */
int request_fits(const struct mount_request *want, const struct format *is, struct error *err);

/*
 * The volume's mount at the path, staging or target, with the table it is in. ERR_INVALID_ARGUMENT
 * when one of the two is missing, ERR_NOT_FOUND when the volume is not mounted there.
 */
int mounted_find(struct rpc_call *call, const char *id, const char *path,
		 struct mount_table *ret_table, const struct mount **ret, struct error *err);

#endif
