/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_STAGING_H
#define ZCSI_NODE_ATTACH_STAGING_H

/*
 * Mounting a volume at a staging path of this host, from which publish binds it to target paths,
 * and unmounting it. While an encrypted volume is staged its property zcsi:staged is set, until
 * node/csi/idle.h removes it. Functions return 0, or -1 with *err.
 */

#include <sys/types.h>

#include "common/volume/format.h"
#include "node/record/dataset.h"
#include "node/mount/mount.h"
#include "transport/rpc.h"

struct staging {
	const char *source; /* the volume's source in mountinfo (node/mount/mountinfo.h) */
	const struct format *format;
	const struct dataset *dataset; /* the volume; NULL: it is a share of another host */
	struct rpc_call *call;
	const char *path; /* the staging path, canonical; its parent directory exists */
	uint64_t attrs;   /* attributes of the mount: MOUNT_ATTR_ bits (node/mount/mountinfo.h) */
	const char *root; /* property zcsi:root, to be applied by this host; "": nothing to apply */
	uid_t maker;      /* the user that owns a new root directory (node/mount/permissions.h) */
	char *const *options; /* all mount flags of the request, those of NFS included */
	size_t n_options;
	const char *key; /* the secret for an encrypted volume, or NULL */
	/* Mount a volume that is mounted nowhere on this host, as a staging with these attrs. */
	int (*mount)(const struct staging *staging, struct error *err);
	/*
	 * Check that a mount with this source is of the present volume. NULL: no check is needed.
	 */
	int (*check)(const struct staging *staging, const struct mount *mount, struct error *err);
};

/* The mount function for a ZFS filesystem of this host's pool. */
int staging_mount_dataset(const struct staging *staging, struct error *err);

/*
 * Stage a volume; OK if it is staged there already. ERR_ALREADY_EXISTS if it is in use there with
 * other attributes, ERR_FAILED_PRECONDITION if another volume is mounted at the path. A mount whose
 * zfs-fuse has ended is replaced; ERR_FAILED_PRECONDITION if it is in use, with its path.
 * ERR_UNAUTHENTICATED if a key is wrong, also if the volume is mounted.
 */
int staging_mount(struct arena *arena, const struct staging *staging, struct error *err);
/*
 * Unmount all mounts of the dataset that are stacked on top at the path; OK if there is none.
 * ERR_FAILED_PRECONDITION if one of them is a target or has one.
 */
int staging_unmount(struct arena *arena, const char *dataset, const char *path, struct error *err);

#endif
