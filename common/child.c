/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Child processes: pipes, posix_spawn and a pidfd.
 *
 * Invariant: a child started by child_start either has a pidfd or was reaped, and inherits no
 * descriptors except those that dup2 gave it. The output of a child and its time limit are handled
 * by exec.c and follow.c.
 */
#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mem.h"

/* Longest wait for a child to end after SIGKILL. */
#define KILL_GRACE_MS 1000

/*
 * Held for reading during posix_spawn, while the child has copies of all our descriptors. The
 * closefrom action closes them explicitly, because posix_spawn can return before exec has closed
 * those that are close-on-exec. child_settle takes the lock for writing; the lock prefers writers,
 * so child_settle waits only for calls of posix_spawn that have begun.
 */
static pthread_rwlock_t starting = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

void child_fini(struct child *child)
{
	mem_cleanup_close(&child->pidfd);
	mem_cleanup_close(&child->out);
	mem_cleanup_close(&child->error);
	*child = (struct child)CHILD_NONE;
}

static int open_output(int *ret_ours, int *ret_theirs, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	return 0;
}

static char **child_environment(void)
{
	static char lc_all[] = "LC_ALL=C";
	size_t n = 0, kept = 0;

	while (environ[n])
		n++;
	char **variables = mem_alloc((n + 2) * sizeof(*variables));
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], lc_all, strlen("LC_ALL=")) != 0)
			variables[kept++] = environ[i];
	variables[kept] = lc_all;
	return variables;
}

static void set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_setsigdefault(attributes, &all);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setpgroup(attributes, 0);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
						     POSIX_SPAWN_SETPGROUP);
}

/* Start a program whose descriptors 0 to n - 1 are copies of fds. */
static int spawn(const char *const *argv, const int *fds, int n, pid_t *ret_pid, struct error *err)
{
	auto_free char **environment = child_environment();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int number = 0;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	set_attributes(&attributes);
	for (int i = 0; i < n && number == 0; i++)
		number = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (number == 0)
		number = posix_spawn_file_actions_addclosefrom_np(&actions, n);
	pthread_rwlock_rdlock(&starting);
	if (number == 0)
		number = posix_spawnp(ret_pid, argv[0], &actions, &attributes, (char *const *)argv,
				      environment);
	pthread_rwlock_unlock(&starting);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (number == ENOENT)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is not installed, or not in PATH: install it on this host",
			    argv[0]);
	errno = number;
	return number == 0 ? 0 : fail_errno(err, "cannot run '%s'", argv[0]);
}

int child_start(struct child *child, const char *const *argv, int in, int keep, struct error *err)
{
	auto_close int out = -1;
	auto_close int error = -1;

	*child = (struct child)CHILD_NONE;
	if (open_output(&child->out, &out, err) < 0 ||
	    open_output(&child->error, &error, err) < 0 ||
	    spawn(argv, (const int[]){in, out, error, keep}, keep ? 4 : 3, &child->pid, err) < 0) {
		child_fini(child);
		return -1;
	}
	child->pidfd = pidfd_open(child->pid, 0);
	if (child->pidfd >= 0)
		return 0;
	fail_errno(err, "cannot watch '%s'", argv[0]);
	kill(-child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	child_fini(child);
	return -1;
}

void child_settle(void)
{
	pthread_rwlock_wrlock(&starting);
	pthread_rwlock_unlock(&starting);
}

static int reap(int pidfd)
{
	siginfo_t info;

	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0)
		if (errno != EINTR)
			return -1;
	return info.si_code == CLD_EXITED ? info.si_status : CHILD_SIGNALLED + info.si_status;
}

static bool ends_within(const struct child *child, int ms)
{
	struct pollfd end = {.fd = child->pidfd, .events = POLLIN};

	return poll(&end, 1, ms) == 1;
}

bool child_has_ended(const struct child *child)
{
	return ends_within(child, 0);
}

int child_reap(struct child *child)
{
	return reap(child->pidfd);
}

static void *reap_late(void *pidfd)
{
	auto_close int fd = (int)(intptr_t)pidfd;

	reap(fd);
	return NULL;
}

/*
 * A zfs process that waits for a suspended pool does not end even on SIGKILL. In this case a thread
 * waits for it and reaps it.
 */
int child_kill(struct child *child)
{
	pthread_t thread;

	kill(-child->pid, SIGKILL);
	if (ends_within(child, KILL_GRACE_MS)) {
		reap(child->pidfd);
	} else if (pthread_create(&thread, NULL, reap_late, (void *)(intptr_t)child->pidfd) == 0) {
		child->pidfd = -1;
		pthread_detach(thread);
	}
	return CHILD_SIGNALLED + SIGKILL;
}
