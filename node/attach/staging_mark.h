/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_STAGING_MARK_H
#define ZCSI_NODE_ATTACH_STAGING_MARK_H

/*
 * Marks of the paths at which zcsi-node stages volumes. On a shared parent mount mountinfo shows
 * the same for a staging without targets as for a target whose staging was removed by hand; the
 * mark tells them apart. A staging that an earlier version made has none.
 *
 * path: canonical (path_canonical). Any thread.
 */

#include <stdbool.h>

#include "common/error.h"

/* Mark the path before something is mounted there. Returns 0, also if it is marked, or -1. */
int staging_mark_set(const char *path, struct error *err);
/* Returns true if the path is marked. The caller checks that something is mounted there. */
bool staging_mark_is_set(const char *path);
/* Remove the mark when nothing is mounted at the path. Returns 0, also without a mark, or -1. */
int staging_mark_remove(const char *path, struct error *err);

#endif
