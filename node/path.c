/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Paths. See path.h.
 *
 * Invariant: the last component is never followed, so a link put there by a workload leads
 * nothing of ours elsewhere.
 */
#include "node/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A component that is empty, "." or ".."; the one after a trailing slash does not count. */
static bool is_odd(const char *component, size_t length)
{
	if (length == 0)
		return *component == '/';
	return component[0] == '.' && (length == 1 || (length == 2 && component[1] == '.'));
}

int path_check(const char *path, const char *field, struct error *err)
{
	if (!*path)
		return fail(err, ERR_INVALID_ARGUMENT, "%s is missing", field);
	if (strlen(path) >= PATH_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "%s is longer than %d bytes", field,
			    PATH_MAX - 1);
	if (*path != '/' || !path[1])
		return fail(err, ERR_INVALID_ARGUMENT,
			    "%s '%s' is not an absolute path below /; give the whole path", field,
			    path);
	for (const char *slash = path; slash; slash = strchr(slash + 1, '/'))
		if (is_odd(slash + 1, strcspn(slash + 1, "/")))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "%s '%s' has a component that is empty, '.' or '..'; give the "
				    "path without it",
				    field, path);
	return 0;
}

int path_canonical(struct arena *arena, const char *path, char **ret, struct error *err)
{
	char *copy = arena_strdup(arena, path), parent[PATH_MAX];
	size_t length = strlen(copy);

	while (length > 1 && copy[length - 1] == '/')
		copy[--length] = '\0';
	char *slash = strrchr(copy, '/');
	*slash = '\0';
	*ret = NULL;
	if (!realpath(*copy ? copy : "/", parent)) {
		if (errno == ENOENT)
			return 0;
		return fail_errno(err, "cannot resolve the directory of '%s'", path);
	}
	*ret = arena_printf(arena, "%s/%s", strcmp(parent, "/") ? parent : "", slash + 1);
	if (strlen(*ret) >= PATH_MAX)
		return fail(err, ERR_INVALID_ARGUMENT, "'%s' is longer than %d bytes when resolved",
			    path, PATH_MAX - 1);
	return 0;
}

int path_kind(const char *path, enum path_kind *ret, struct error *err)
{
	struct stat st;

	*ret = PATH_ABSENT;
	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		return fail_errno(err, "cannot look at '%s'", path);
	}
	*ret = S_ISDIR(st.st_mode) ? PATH_DIRECTORY : PATH_OTHER;
	return 0;
}

static int check_empty(const char *path, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry = NULL;

	if (!dir)
		return fail_errno(err, "cannot look into the directory '%s'", path);
	while ((entry = readdir(dir)) && is_odd(entry->d_name, strlen(entry->d_name)))
		continue;
	bool empty = !entry;
	closedir(dir);
	return empty ? 0
		     : fail(err, ERR_FAILED_PRECONDITION,
			    "nothing is mounted at '%s' but the directory is not empty; move away "
			    "what it holds",
			    path);
}

int path_make_directory(const char *path, bool *ret_made, struct error *err)
{
	enum path_kind kind;

	*ret_made = !mkdir(path, 0750);
	if (*ret_made)
		return 0;
	if (errno != EEXIST)
		return fail_errno(err, "cannot make the directory '%s'", path);
	if (path_kind(path, &kind, err))
		return -1;
	if (kind != PATH_DIRECTORY)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "'%s' is a file or a symbolic link; a volume is mounted on a directory",
			    path);
	return check_empty(path, err);
}
