/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The formats of volumes.
 *
 * Invariant: this table is all there is to know before a device is touched; how a file system is
 * made is for who makes it. mkfs.xfs refuses less than 300 MiB; what ext4 keeps for itself leaves
 * nothing of much less than 2 MiB.
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
	/* A volume of ours is 'zfs' on every node, one that democratic-csi registered 'nfs'. */
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

bool format_fits(const char *asked, const struct format *is)
{
	if (!*asked)
		return is->mounts;
	return !strcmp(asked, is->name) || (is->also && !strcmp(asked, is->also));
}
