/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOUNT_PATH_H
#define ZCSI_NODE_MOUNT_PATH_H

/*
 * Paths that an orchestrator passes: checking them, and creating and removing the directories and
 * files that volumes are mounted on. Functions return 0, or -1 with *err. Any thread.
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
 * Create the last component: a directory, or a file for a device. An existing empty one is
 * accepted, because a host that crashed leaves them. One with content is an error, because the
 * mount would hide the content. *ret_made: it was created, and the caller removes it with remove(3)
 * if a later step fails. Do not call it for a path at which something is mounted.
 */
int path_make(const char *path, enum path_kind kind, bool *ret_made, struct error *err);

/*
 * Remove the directory or file that path_make created. ERR_FAILED_PRECONDITION or
 * ERR_INVALID_ARGUMENT if it is not empty. Returns 0 if it does not exist.
 */
int path_remove(const char *path, struct error *err);

#endif
