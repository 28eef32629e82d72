/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_STAGING_H
#define ZCSI_NODE_ATTACH_STAGING_H

/* A volume mounted once at a path of this host, from where it is bound to others; and off it. */

#include <sys/types.h>

#include "common/volume/format.h"
#include "node/record/dataset.h"
#include "node/mount/mount.h"
#include "transport/rpc.h"

struct staging {
	const char *source; /* what mountinfo calls it (node/mount/mountinfo.h) */
	const struct format *format;
	const struct dataset *dataset; /* NULL: another host's */
	struct rpc_call *call;
	const char *path;
	uint64_t attrs;       /* node/mount/mountinfo.h */
	const char *root;     /* the property zcsi:root, when that is to be applied here, or "" */
	uid_t maker;          /* of that directory (node/mount/permissions.h) */
	char *const *options; /* the mount flags, among which are those of NFS */
	size_t n_options;
	const char *key; /* the secret that opens it, or NULL */
	/* Mount it with its role and attributes where it is mounted nowhere on this host yet. */
	int (*mount)(const struct staging *staging, struct error *err);
	/* Check that the staged mount is what it should be. NULL: it always is. */
	int (*check)(const struct staging *staging, struct error *err);
};

/* The mount of a dataset of our pool. */
int staging_mount_dataset(const struct staging *staging, struct error *err);

int staging_mount(struct arena *arena, const struct staging *staging, struct error *err);
/*
 * All of the dataset's that lie on top of each other there; none is as good. Those that something
 * is published from stay: ERR_FAILED_PRECONDITION.
 */
int staging_unmount(struct arena *arena, const char *dataset, const char *path, struct error *err);

#endif
