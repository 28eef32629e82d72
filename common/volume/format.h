/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_VOLUME_FORMAT_H
#define ZCSI_VOLUME_FORMAT_H

/*
 * The formats of a volume: a ZFS filesystem, or a zvol that is a raw block device or gets a
 * filesystem when it is first staged. A volume and its clones never change their format. A share
 * that is mounted by NFS has the format NFS, independent of its server.
 */

#include <stdbool.h>
#include <stdint.h>

#define FORMAT_ZFS   "zfs"
#define FORMAT_BLOCK "block"
#define FORMAT_NFS   "nfs"

/* A multiple of every possible volblocksize, so that a zvol has exactly the requested size. */
#define FORMAT_GRAIN ((int64_t)128 << 10)

struct format {
	const char *name;        /* name of the format; for a filesystem also CSI's fs_type */
	const char *also;        /* another fs_type that requests this format; or NULL */
	bool made;               /* true if volumes can be created with it, false: only mounted */
	bool zvol;               /* true if it is on a zvol, false: on a ZFS filesystem */
	bool mounts;             /* true if it is mounted, false: used as a block device */
	int64_t size_min;        /* smallest size of a volume, in bytes */
	const char *description; /* text for error messages, such as "an ext4 file system" */
	const char *advice;      /* how to request such a volume, for error messages */
};

/* Returns the format of this name, static; NULL if there is none. */
const struct format *format_find(const char *name);
/* Returns true if a volume of the format of this name is on a zvol; false for "". */
bool format_on_zvol(const char *name);
/* Returns true if a request by name means this format; "" means any format that is mounted. */
bool format_fits(const char *asked, const struct format *is);

#endif
