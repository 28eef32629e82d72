/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_PATH_H
#define ZCSI_NODE_MOUNT_PATH_H

/*
 * Paths that an orchestrator passes: checking them, and making and removing what is mounted on.
 * Functions return 0, or -1 with *err. Any thread.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/mem.h"

/*
 * Check that the path is absolute, shorter than PATH_MAX, not "/", and without empty, "." and ".."
 * components. Otherwise ERR_INVALID_ARGUMENT, with the name of the request's field.
 */
int path_check(const char *path, const char *field, struct error *err);

/*
 * *ret is the path as mountinfo shows it: symbolic links are resolved in the parent only, never in
 * the last component. *ret is NULL if the parent does not exist.
 */
int path_canonical(struct arena *arena, const char *path, char **ret, struct error *err);

/* PATH_FILE: a regular file. PATH_OTHER: a symbolic link or a special file. */
enum path_kind { PATH_ABSENT, PATH_DIRECTORY, PATH_FILE, PATH_OTHER };

/*
 * Make the last component: a directory, or a file, which a device is mounted on. An empty one that
 * exists is fine, because a host that crashed leaves them; one with content would be hidden by the
 * mount and is an error. *ret_made: the caller undoes with remove(3). Not for mounted paths.
 */
int path_make(const char *path, enum path_kind kind, bool *ret_made, struct error *err);

/*
 * Remove what path_make made, if it is empty; ERR_FAILED_PRECONDITION or ERR_INVALID_ARGUMENT if
 * it is not. Returns 0 if it does not exist.
 */
int path_remove(const char *path, struct error *err);

#endif
