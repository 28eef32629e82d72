/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A library preloaded into zcsi-node. Each child process, and each system call that changes mounts,
 * directories, modes or owners, makes a point before it and a point after it. A point is one line
 * of the file `points` in the folder CRASH_POINTS. If the file `kill` there holds the number of
 * that line, the daemon kills itself.
 *
 * Invariant: without `kill` the daemon behaves as without this library. Its child processes are not
 * watched, and background reads of the catalog's thread are no points.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int folder = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* The child processes of this thread until waitid() has returned; two for a send and a receive. */
static _Thread_local struct child {
	pid_t pid; /* id of the child process; 0: none */
	char name[64];
} children[2];
static _Thread_local bool is_catalog;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CRASH_POINTS");

	if (path)
		folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsetenv("LD_PRELOAD");
}

static int armed(void)
{
	char text[16] = "";
	int fd = openat(folder, "kill", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		*text = '\0';
	close(fd);
	return atoi(text);
}

/*
 * True if umount2() is called again for the path of the last point, because the mount was busy,
 * perhaps due to another thread. All attempts to unmount a path count as one point.
 */
static bool is_unmounted_again(const char *operation, const char *when, const char *detail)
{
	static char last[4096];
	bool unmounts = !strcmp(operation, "umount2");

	if (unmounts && !strcmp(detail, last))
		return true;
	snprintf(last, sizeof(last), "%s", unmounts && !strcmp(when, "after") ? detail : "");
	return false;
}

/* Record a point, and kill the daemon if the file `kill` holds the number of the point. Call with
 * the mutex held. */
static void pass(const char *operation, const char *when, const char *detail)
{
	static int count;
	int points = openat(folder, "points", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (points < 0)
		return;
	dprintf(points, "%d\t%s\t%s\t%s\n", ++count, operation, when, detail);
	close(points);
	if (armed() == count)
		kill(getpid(), SIGKILL);
}

static void point(const char *operation, const char *when, const char *detail)
{
	int number = errno;

	pthread_mutex_lock(&mutex);
	if (!is_unmounted_again(operation, when, detail))
		pass(operation, when, detail);
	pthread_mutex_unlock(&mutex);
	errno = number;
}

/*
 * True if the process belongs to no call: it is `zpool events` of the feed, or a process of the
 * catalog's thread other than `zfs destroy`. The catalog's thread reads datasets and restores
 * exports at any time. It is recognised by its first process, `zpool get`.
 */
static bool is_background(char *const *argv)
{
	const char *verb = argv[1] ? argv[1] : "";

	if (!strcmp(argv[0], "zpool") && !strcmp(verb, "get"))
		is_catalog = true;
	return !strcmp(verb, "events") || (is_catalog && strcmp(verb, "destroy") != 0);
}

/*
 * True if the thread runs the same command twice in succession. zcsi repeats a command if zfs
 * reports the dataset as busy; all attempts count as one point.
 */
static bool is_repeated(char *const *argv)
{
	static _Thread_local char last[1024];
	char now[sizeof(last)] = "";
	size_t n = 0;

	for (size_t i = 0; argv[i] && n < sizeof(now); i++)
		n += (size_t)snprintf(now + n, sizeof(now) - n, "%s ", argv[i]);
	if (!strcmp(now, last))
		return true;
	memcpy(last, now, sizeof(last));
	return false;
}

static const char *last_of(char *const *argv)
{
	size_t n = 1;

	while (argv[n])
		n++;
	return argv[n - 1];
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
	static __typeof__(posix_spawnp) *real;

	if (!real)
		real = dlsym(RTLD_NEXT, "posix_spawnp");
	if (is_background(argv) || is_repeated(argv))
		return real(pid, file, actions, attributes, argv, environment);
	struct child *child = &children[children[0].pid != 0];
	snprintf(child->name, sizeof(child->name), "%s %s", argv[0], argv[1] ? argv[1] : "");
	point(child->name, "before", last_of(argv));
	int result = real(pid, file, actions, attributes, argv, environment);
	child->pid = *pid;
	return result;
}

int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	static __typeof__(waitid) *real;

	if (!real)
		real = dlsym(RTLD_NEXT, "waitid");
	int result = real(type, id, info, options);
	for (size_t i = 0; result == 0 && i < sizeof(children) / sizeof(*children); i++) {
		if (!children[i].pid || children[i].pid != info->si_pid)
			continue;
		point(children[i].name, "after", "");
		children[i].pid = 0;
	}
	return result;
}

/*
 * renameat() makes no point: zcsi-node replaces files of its cache by it (node/agent/kept_file.c).
 * No call depends on these files, and they are written when a controller has something to keep.
 */
int renameat(int from_dir, const char *from, int dir, const char *to)
{
	static __typeof__(renameat) *real;

	if (!real)
		real = dlsym(RTLD_NEXT, "renameat");
	return real(from_dir, from, dir, to);
}

#define OPERATION(name, detail, parameters, arguments)                                             \
	int name parameters                                                                        \
	{                                                                                          \
		static __typeof__(name) *real;                                                     \
                                                                                                   \
		if (!real)                                                                         \
			real = dlsym(RTLD_NEXT, #name);                                            \
		if (!is_catalog)                                                                   \
			point(#name, "before", detail);                                            \
		int result = real arguments;                                                       \
		if (!is_catalog)                                                                   \
			point(#name, "after", detail);                                             \
		return result;                                                                     \
	}

/* clang-format off */
OPERATION(mount, target,
	  (const char *source, const char *target, const char *type, unsigned long flags,
	   const void *data),
	  (source, target, type, flags, data))
OPERATION(umount, path, (const char *path), (path))
OPERATION(umount2, path, (const char *path, int flags), (path, flags))
OPERATION(open_tree, path, (int dir, const char *path, unsigned flags), (dir, path, flags))
OPERATION(mount_setattr, path,
	  (int dir, const char *path, unsigned flags, struct mount_attr *attr, size_t size),
	  (dir, path, flags, attr, size))
OPERATION(move_mount, path,
	  (int from_dir, const char *from, int dir, const char *path, unsigned flags),
	  (from_dir, from, dir, path, flags))
OPERATION(fsopen, "", (const char *type, unsigned flags), (type, flags))
OPERATION(fsmount, "", (int fs, unsigned flags, unsigned attributes), (fs, flags, attributes))
OPERATION(mkdir, path, (const char *path, mode_t mode), (path, mode))
OPERATION(mkdirat, path, (int dir, const char *path, mode_t mode), (dir, path, mode))
OPERATION(mknodat, path, (int dir, const char *path, mode_t mode, dev_t device),
	  (dir, path, mode, device))
OPERATION(rmdir, path, (const char *path), (path))
OPERATION(unlink, path, (const char *path), (path))
OPERATION(unlinkat, path, (int dir, const char *path, int flags), (dir, path, flags))
OPERATION(rename, to, (const char *from, const char *to), (from, to))
OPERATION(symlink, path, (const char *to, const char *path), (to, path))
OPERATION(chmod, path, (const char *path, mode_t mode), (path, mode))
OPERATION(fchmod, "", (int fd, mode_t mode), (fd, mode))
OPERATION(fchmodat, path, (int dir, const char *path, mode_t mode, int flags),
	  (dir, path, mode, flags))
OPERATION(chown, path, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
OPERATION(lchown, path, (const char *path, uid_t uid, gid_t gid), (path, uid, gid))
OPERATION(fchown, "", (int fd, uid_t uid, gid_t gid), (fd, uid, gid))
OPERATION(fchownat, path, (int dir, const char *path, uid_t uid, gid_t gid, int flags),
	  (dir, path, uid, gid, flags))
/* clang-format on */
