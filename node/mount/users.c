/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Finding the processes that use a mount, a device, or a mount in another namespace, in /proc.
 *
 * Invariant: a result proves use, but none does not prove disuse, because processes start and end
 * during the search. A process that cannot be examined, or has ended, is left out.
 */
#include "node/mount/users.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "node/mount/kind.h"

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

/* Returns true if the process, a descriptor of /proc/PID, uses a file below the mount `what`. */
static bool uses(int process, const void *what)
{
	const char *mount = what;

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

/*
 * Returns true if the process has the device with the number `what` open, by any name. statx does
 * not ask the server of a network file system, which may not answer.
 */
static bool has_device(int process, const void *what)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const dev_t device = *(const dev_t *)what;
	bool found = false;
	struct statx st;

	if (!dir)
		return false;
	for (struct dirent *entry; !found && (entry = readdir(dir));)
		found = isdigit((unsigned char)entry->d_name[0]) &&
			!statx(fd, entry->d_name, AT_STATX_DONT_SYNC, STATX_TYPE, &st) &&
			S_ISBLK(st.stx_mode) && st.stx_rdev_major == major(device) &&
			st.stx_rdev_minor == minor(device);
	closedir(dir);
	return found;
}

/*
 * Open the /proc of the host. In a container (jobs/node.nomad.hcl) it is mounted at /host/proc,
 * because the /proc of a container shows only the processes of the container.
 */
static DIR *open_proc(void)
{
	DIR *proc = opendir("/host/proc");

	return proc ? proc : opendir("/proc");
}

/* Returns an open descriptor of /proc/PID of the next process, or -1 after the last one. */
static int next_process(DIR *proc, const char **ret_pid)
{
	for (struct dirent *entry; (entry = readdir(proc));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		int process = openat(dirfd(proc), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		*ret_pid = entry->d_name;
		if (process >= 0)
			return process;
	}
	return -1;
}

/* Returns the first processes for which `does` returns true, with their names. */
static char *find_users(struct arena *arena, bool (*does)(int process, const void *what),
			const void *what)
{
	char *text = arena_strdup(arena, ""), name[32];
	DIR *proc = open_proc();
	const char *pid;
	unsigned n = 0;

	for (int process; proc && n < USERS_MAX && (process = next_process(proc, &pid)) >= 0;) {
		if (does(process, what)) {
			read_name(process, name, sizeof(name));
			text = arena_printf(arena, "%s%s%s (pid %s)", text, n++ ? ", " : "", name,
					    pid);
		}
		close(process);
	}
	if (proc)
		closedir(proc);
	return text;
}

char *mount_users(struct arena *arena, const char *path)
{
	return find_users(arena, uses, path);
}

char *mount_device_users(struct arena *arena, dev_t device)
{
	return find_users(arena, has_device, &device);
}

/* Mount namespaces by their numbers, so that each is examined once. */
struct namespaces {
	ino_t *rows;
	size_t n;
};

static bool has_seen(const struct namespaces *seen, ino_t namespace)
{
	for (size_t i = 0; i < seen->n; i++)
		if (seen->rows[i] == namespace)
			return true;
	return false;
}

static void add_seen(struct arena *arena, struct namespaces *seen, ino_t namespace)
{
	/* Double the capacity of the array when n reaches a power of two. */
	if (!(seen->n & (seen->n - 1))) {
		ino_t *rows = arena_alloc(arena, (2 * seen->n + 1) * sizeof(*rows));
		if (seen->n)
			memcpy(rows, seen->rows, seen->n * sizeof(*rows));
		seen->rows = rows;
	}
	seen->rows[seen->n++] = namespace;
}

/*
 * Find the path at which the dataset, or the device, is mounted in the process's namespace; *ret is
 * NULL if nowhere. Returns -1 if the mounts could not be read, as those of an ended process.
 */
static int mounted_at(struct arena *arena, int process, const char *dataset, dev_t device,
		      const char **ret)
{
	auto_arena struct arena memory = {.cap = SIZE_MAX};
	struct mount_table table;
	struct error ignored;
	int fd = openat(process, "mountinfo", O_RDONLY | O_CLOEXEC);

	*ret = NULL;
	if (fd < 0 || mount_table_read_from(&memory, fd, &table, &ignored) < 0)
		return -1;
	for (size_t i = 0; i < table.n && !*ret; i++)
		if (!mount_is_network(&table.rows[i]) &&
		    (mount_is_on(&table.rows[i], dataset) ||
		     (device && table.rows[i].device == device)))
			*ret = arena_strdup(arena, table.rows[i].target);
	return 0;
}

/*
 * Returns the path at which the dataset, or the device, is mounted in the process's namespace; NULL
 * if nowhere, or if the namespace was examined before. A namespace whose mounts could not be read
 * is not added to `seen`, because another process in it may be readable.
 */
static const char *mounted_newly(struct arena *arena, struct namespaces *seen, int process,
				 const char *dataset, dev_t device)
{
	const char *path;
	struct stat st;

	if (fstatat(process, "ns/mnt", &st, 0) || has_seen(seen, st.st_ino) ||
	    mounted_at(arena, process, dataset, device, &path) < 0)
		return NULL;
	add_seen(arena, seen, st.st_ino);
	return path;
}

char *mount_in_other_namespace(struct arena *arena, const char *dataset, dev_t device)
{
	struct namespaces seen = {0};
	DIR *proc = open_proc();
	char *text = NULL, name[32];
	const char *pid;
	struct stat own;

	if (!stat("/proc/self/ns/mnt", &own))
		add_seen(arena, &seen, own.st_ino);
	for (int process; proc && !text && (process = next_process(proc, &pid)) >= 0;) {
		const char *path = mounted_newly(arena, &seen, process, dataset, device);
		if (path) {
			read_name(process, name, sizeof(name));
			text = arena_printf(arena, "'%s' in the mount namespace of %s (pid %s)",
					    path, name, pid);
		}
		close(process);
	}
	if (proc)
		closedir(proc);
	return text;
}
