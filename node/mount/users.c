/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Finding the processes that keep a mount busy, in /proc.
 *
 * Invariant: the result is only for error texts. Processes start and end during the search, so no
 * decision may depend on it.
 */
#include "node/mount/mount.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define USERS_MAX 5 /* processes named in one error text */

static bool is_below(const char *path, const char *mount)
{
	size_t length = strlen(mount);

	return !strncmp(path, mount, length) && (!path[length] || path[length] == '/');
}

static bool link_is_below(int process, const char *name, const char *mount)
{
	char path[PATH_MAX];
	ssize_t length = readlinkat(process, name, path, sizeof(path) - 1);

	if (length < 0)
		return false;
	path[length] = '\0';
	return is_below(path, mount);
}

static bool has_open(int process, const char *mount)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;

	if (!dir)
		return false;
	for (struct dirent *entry; !found && (entry = readdir(dir));)
		found = link_is_below(fd, entry->d_name, mount);
	closedir(dir);
	return found;
}

static bool has_mapped(int process, const char *mount)
{
	int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	auto_fclose FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[PATH_MAX + 128];

	while (file && fgets(line, sizeof(line), file)) {
		const char *path = strchr(line, '/');
		if (!path)
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (is_below(path, mount))
			return true;
	}
	return false;
}

/* Returns true if the process, a descriptor of /proc/PID, uses a file below the mount. */
static bool uses(int process, const char *mount)
{
	return link_is_below(process, "cwd", mount) || link_is_below(process, "root", mount) ||
	       has_open(process, mount) || has_mapped(process, mount);
}

static void read_name(int process, char *ret, size_t size)
{
	auto_close int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, ret, size - 1);

	ret[length > 0 ? length : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

char *mount_users(struct arena *arena, const char *path)
{
	char *text = arena_strdup(arena, ""), name[32];
	DIR *proc = opendir("/proc");
	unsigned n = 0;

	if (!proc)
		return text;
	for (struct dirent *entry; n < USERS_MAX && (entry = readdir(proc));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		auto_close int process =
			openat(dirfd(proc), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (process < 0 || !uses(process, path))
			continue;
		read_name(process, name, sizeof(name));
		text = arena_printf(arena, "%s%s%s (pid %s)", text, n++ ? ", " : "", name,
				    entry->d_name);
	}
	closedir(proc);
	return text;
}
