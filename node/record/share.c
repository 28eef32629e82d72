/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Paths of shares. See share.h.
 *
 * Invariant: pure functions of names; a volume's leaf names it in all pools, so a mount is known as
 * the volume's wherever it was exported.
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
	return strcmp(leaf_of(path), leaf_of(dataset)) ? SHARE_OF_ANOTHER : SHARE_OF_IT;
}
