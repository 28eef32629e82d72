/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_PATH_H
#define ZCSI_NODE_MOUNT_PATH_H

/* Paths that an orchestrator gives: what they may look like, and what is there. */

#include <stdbool.h>

#include "common/error.h"
#include "common/mem.h"

/*
 * ERR_INVALID_ARGUMENT, naming the field, unless the path is absolute, no longer than the system
 * takes, without "." and "..", and not the root.
 */
int path_check(const char *path, const char *field, struct error *err);

/*
 * The path as mountinfo writes it: its parent without symbolic links, its last component as it
 * is, so that a link there is never followed. *ret is NULL when the parent does not exist.
 */
int path_canonical(struct arena *arena, const char *path, char **ret, struct error *err);

enum path_kind { PATH_ABSENT, PATH_DIRECTORY, PATH_FILE, PATH_OTHER };

/* What is at the path itself. Not for a path where something is mounted, which may be dead. */
int path_kind(const char *path, enum path_kind *ret, struct error *err);

/*
 * Make the last component if it is missing: a directory, or a file for a device. An empty one is as
 * good: a host that went down leaves them. Anything else in its place is an error, and so is one
 * that holds anything, which a mount would hide. remove(3) takes back what was made.
 */
int path_make(const char *path, enum path_kind kind, bool *ret_made, struct error *err);

/* Remove what path_make made; what holds anything stays, and is an error. Gone is fine. */
int path_remove(const char *path, struct error *err);

#endif
