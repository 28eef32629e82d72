/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The formats of volumes, as one table. node/attach/mkfs.c makes the filesystems.
 *
 * Invariant: this table has every property of a format that is needed before a device is opened.
 * The sizes: mkfs.xfs refuses less than 300 MiB, and the metadata of ext4 leaves no usable space on
 * much less than 2 MiB.
 */
#include "common/volume/format.h"

#include <stddef.h>
#include <string.h>

#include "common/mem.h"

#define MIB ((int64_t)1 << 20)

static const struct format formats[] = {
	{FORMAT_ZFS, NULL, true, false, true, MIB, "a ZFS filesystem",
	 "ask for a mount with fs_type empty or 'zfs'"},
	{FORMAT_BLOCK, NULL, true, true, false, MIB, "a block device",
	 "ask for block (in Nomad: attachment_mode = \"block-device\")"},
	{"ext4", NULL, true, true, true, 2 * MIB, "an ext4 file system",
	 "ask for a mount with fs_type empty or 'ext4'"},
	{"xfs", NULL, true, true, true, 300 * MIB, "an XFS file system",
	 "ask for a mount with fs_type empty or 'xfs'"},
	/* NFS mounts of our volumes have the fs_type 'zfs', those of democratic-csi 'nfs'. */
	{FORMAT_NFS, FORMAT_ZFS, false, false, true, 0, "an NFS share",
	 "ask for a mount with fs_type empty or 'nfs'"},
};

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < COUNT(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

bool format_on_zvol(const char *name)
{
	const struct format *format = format_find(name);

	return format && format->zvol;
}

bool format_fits(const char *asked, const struct format *is)
{
	if (!*asked)
		return is->mounts;
	return !strcmp(asked, is->name) || (is->also && !strcmp(asked, is->also));
}
