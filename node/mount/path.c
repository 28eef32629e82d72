/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Paths that an orchestrator passes.
 *
 * Invariant: the last component is never followed, so a symbolic link that a workload puts there
 * cannot redirect a mount.
 */
#include "node/mount/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true for ".", ".." and an empty component, except after one trailing slash. */
static bool is_forbidden(const char *component, size_t length)
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
		if (is_forbidden(slash + 1, strcspn(slash + 1, "/")))
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

static int inspect(const char *path, struct stat *ret, enum path_kind *ret_kind, struct error *err)
{
	*ret_kind = PATH_ABSENT;
	if (lstat(path, ret)) {
		if (errno == ENOENT)
			return 0;
		return fail_errno(err, "cannot inspect '%s'", path);
	}
	*ret_kind = S_ISDIR(ret->st_mode)   ? PATH_DIRECTORY
		    : S_ISREG(ret->st_mode) ? PATH_FILE
					    : PATH_OTHER;
	return 0;
}

static int fail_not_empty(const char *path, const char *what, struct error *err)
{
	return fail(err, ERR_FAILED_PRECONDITION,
		    "nothing is mounted at '%s', but the %s is not empty; move its content away",
		    path, what);
}

static int check_empty_directory(const char *path, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry = NULL;

	if (!dir)
		return fail_errno(err, "cannot read the directory '%s'", path);
	while ((entry = readdir(dir)) && is_forbidden(entry->d_name, strlen(entry->d_name)))
		continue;
	bool empty = !entry;
	closedir(dir);
	return empty ? 0 : fail_not_empty(path, "directory", err);
}

static int create(const char *path, enum path_kind kind)
{
	if (kind == PATH_DIRECTORY)
		return mkdir(path, 0750);
	auto_close int file = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	return file < 0 ? -1 : 0;
}

int path_make(const char *path, enum path_kind kind, bool *ret_made, struct error *err)
{
	const char *what = kind == PATH_FILE ? "file" : "directory";
	enum path_kind found;
	struct stat st;

	*ret_made = create(path, kind) == 0;
	if (*ret_made)
		return 0;
	if (errno != EEXIST)
		return fail_errno(err, "cannot create the %s '%s'", what, path);
	if (inspect(path, &st, &found, err) < 0)
		return -1;
	if (found != kind)
		return fail(err, ERR_INVALID_ARGUMENT, "'%s' is %s; a %s is mounted on a %s", path,
			    found == PATH_DIRECTORY ? "a directory" : "a file or a symbolic link",
			    kind == PATH_FILE ? "device" : "volume", what);
	if (kind == PATH_FILE)
		return st.st_size ? fail_not_empty(path, what, err) : 0;
	return check_empty_directory(path, err);
}

int path_remove(const char *path, struct error *err)
{
	enum path_kind kind;
	struct stat st;

	if (inspect(path, &st, &kind, err) < 0)
		return -1;
	if (kind == PATH_ABSENT)
		return 0;
	if (kind == PATH_OTHER || (kind == PATH_FILE && st.st_size))
		return fail(err, ERR_INVALID_ARGUMENT,
			    "'%s' is a file with content, or a symbolic link: zcsi-node did not "
			    "make it; remove it by hand",
			    path);
	if (!(kind == PATH_FILE ? unlink(path) : rmdir(path)) || errno == ENOENT)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return fail_not_empty(path, "directory", err);
	return fail_errno(err, "cannot remove '%s'", path);
}
