/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_REQUEST_H
#define ZCSI_REQUEST_H

/* What the handlers ask of their requests; each failure says what to give instead. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "proto/csi.h"

int request_text(const char *text, const char *field, struct error *err);

struct mount_request {
	uint64_t attrs;    /* node/mount.h; an access mode that only reads has made it read-only */
	bool one_target;   /* the access mode allows no second target on this node */
	const char *group; /* volume_mount_group, or "" */
};

/*
 * ERR_INVALID_ARGUMENT unless the capability is one we can mount: a filesystem, fs_type empty or
 * "zfs", a known access mode, known mount flags. What it asks for is in *ret.
 */
int request_capability(const VolumeCapability *capability, struct mount_request *ret,
		       struct error *err);

#endif
