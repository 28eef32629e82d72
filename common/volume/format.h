/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_FORMAT_H
#define ZCSI_VOLUME_FORMAT_H

/*
 * The formats of a volume. A ZFS filesystem is one; all others are on a zvol: a bare device, or a
 * filesystem that is made on it when it is first staged. A volume and its clones keep their format
 * for life. A share that is mounted by NFS has the format NFS, whatever made it.
 */

#include <stdbool.h>
#include <stdint.h>

#define FORMAT_ZFS   "zfs"
#define FORMAT_BLOCK "block"
#define FORMAT_NFS   "nfs"

/* A multiple of every volblocksize there is, so that a zvol has the size it was asked for. */
#define FORMAT_GRAIN ((int64_t)128 << 10)

struct format {
	const char *name;        /* of a file system: CSI's fs_type */
	const char *also;        /* another name that asks for it, or NULL */
	bool made;               /* volumes are made so; else they are only mounted so */
	bool zvol;               /* on one; else a ZFS filesystem */
	bool mounts;             /* else it is a device */
	int64_t size_min;        /* bytes */
	const char *description; /* "an ext4 file system" */
	const char *advice;      /* how such a volume is asked for */
};

/* Static; NULL when there is none of that name. */
const struct format *format_find(const char *name);
/* Returns true if a request by name means this format; "" means any format that is mounted. */
bool format_fits(const char *asked, const struct format *is);

#endif
