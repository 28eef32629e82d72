/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_PROPERTIES_H
#define ZCSI_NODE_CHANGE_PROPERTIES_H

/* The properties that the next dataset of a volume takes over from the present one. */

#include "node/zfs/zfs.h"

/*
 * Append all properties that are set on a dataset itself, except those that its successor has by
 * itself, cannot be given, or must not take over. besides: one more property that is left out, or
 * NULL. Runs two programs. Returns 0, or -1 with *err.
 */
int properties_read(struct arena *arena, const char *name, const char *besides,
		    struct zfs_properties *ret, struct error *err);

#endif
