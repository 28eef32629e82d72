/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The table of the types of mounts that volumes have.
 *
 * Invariant: the type of a mount decides how its source is compared, so a mount of another type is
 * never taken for a volume, whatever its source is.
 */
#include "node/mount/kind.h"

#include <string.h>

#include "common/mem.h"
#include "node/record/share.h"

static bool is_dataset(const char *source, const char *dataset)
{
	return !strcmp(source, dataset);
}

static bool is_device(const char *source, const char *dataset)
{
	size_t before = strlen(DEVICE_FOLDER);

	return !strncmp(source, DEVICE_FOLDER, before) && !strcmp(source + before, dataset);
}

static bool is_share(const char *source, const char *dataset)
{
	return share_kind(source, dataset) == SHARE_OF_VOLUME;
}

static const struct kind {
	const char *type, *format;
	bool (*names)(const char *source, const char *dataset);
	const char *target_root; /* the path inside a staging that is mounted at its targets */
} kinds[] = {
	{"zfs", FORMAT_ZFS, is_dataset, ""},
	{"fuse.zfs", FORMAT_ZFS, is_dataset, ""},
	{"nfs4", FORMAT_NFS, is_share, ""},
	{"nfs", FORMAT_NFS, is_share, ""},
	{"ext4", "ext4", is_device, ""},
	{"xfs", "xfs", is_device, ""},
	{"tmpfs", FORMAT_BLOCK, is_device, DEVICE_NODE},
};

static const struct kind *kind_of(const struct mount *mount)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (!strcmp(kinds[i].type, mount->type))
			return &kinds[i];
	return NULL;
}

bool mount_is_network(const struct mount *mount)
{
	const struct kind *kind = kind_of(mount);

	return kind && kind->names == is_share;
}

bool mount_is_volume(const struct mount *mount, const char *dataset)
{
	const struct kind *kind = kind_of(mount);

	return kind && kind->names(mount->source, dataset) &&
	       (!strcmp(mount->root, "/") || !strcmp(mount->root, kind->target_root));
}

bool mount_is_on(const struct mount *mount, const char *dataset)
{
	const struct kind *kind = kind_of(mount);

	return kind && kind->names(mount->source, dataset);
}

bool mount_is_child(const struct mount *mount, const char *dataset)
{
	const struct kind *kind = kind_of(mount);
	const size_t length = strlen(dataset);

	return kind && kind->names == is_dataset && !strncmp(mount->source, dataset, length) &&
	       mount->source[length] == '/';
}

const struct format *mount_format(const struct mount *mount)
{
	const struct kind *kind = kind_of(mount);

	return kind ? format_find(kind->format) : NULL;
}

const char *mount_target_root(const struct mount *mount)
{
	const struct kind *kind = kind_of(mount);

	return kind ? kind->target_root : "";
}
