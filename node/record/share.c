/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Paths of NFS exports.
 *
 * Invariant: a volume has the same last component in every pool, so its mount is recognised
 * whichever host exported it.
 */
#include "node/record/share.h"

#include <string.h>

char *share_path(struct arena *arena, const char *dataset)
{
	return arena_printf(arena, SHARE_FOLDER "/%s", dataset);
}

static const char *leaf_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

enum share_kind share_kind(const char *source, const char *dataset)
{
	const char *path = strstr(source, ":" SHARE_FOLDER "/");

	if (!path)
		return SHARE_FOREIGN;
	return strcmp(leaf_of(path), leaf_of(dataset)) ? SHARE_OF_OTHER_VOLUME : SHARE_OF_VOLUME;
}
