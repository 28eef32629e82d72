/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Running a program: pipes, posix_spawn, one poll over both pipes and the child's pidfd.
 *
 * Invariant: the child's end ends the run. A grandchild that inherited a pipe cannot hold us:
 * what is in the pipes when the child has ended is read, the rest is not waited for. A child that
 * must not go on is killed with its process group. What a status means is for the caller.
 */
#include "common/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

#define STDERR_MAX    ((size_t)4096)
#define READ_MAX      ((size_t)16384)
#define KILL_GRACE_MS 1000

/* One output of the child: our end of its pipe and what came through. */
struct capture {
	int fd; /* -1 once it is read to its end */
	char *bytes;
	size_t used, size, max;
	bool overflow;
};

struct child {
	pid_t pid;
	int pidfd;
	struct capture out, error;
};

static void child_fini(struct child *child)
{
	mem_cleanup_close(&child->pidfd);
	mem_cleanup_close(&child->out.fd);
	mem_cleanup_close(&child->error.fd);
	free(child->out.bytes);
	free(child->error.bytes);
}

/* What is beyond the bound is dropped and noted. */
static void capture_add(struct capture *capture, const char *bytes, size_t n)
{
	if (n > capture->max - capture->used) {
		n = capture->max - capture->used;
		capture->overflow = true;
	}
	if (capture->used + n >= capture->size) {
		capture->size = 2 * (capture->used + n) + 1;
		capture->bytes = mem_resize(capture->bytes, capture->size);
	}
	memcpy(capture->bytes + capture->used, bytes, n);
	capture->used += n;
	capture->bytes[capture->used] = '\0';
}

/* One read, which blocks unless poll or FIONREAD promised something. */
static size_t capture_read(struct capture *capture, size_t max)
{
	char bytes[READ_MAX];
	ssize_t n = read(capture->fd, bytes, max < sizeof(bytes) ? max : sizeof(bytes));

	if (n > 0)
		capture_add(capture, bytes, (size_t)n);
	else if (n == 0 || errno != EINTR)
		close(steal_fd(&capture->fd));
	return n > 0 ? (size_t)n : 0;
}

/* What is in the pipe now and no more: a grandchild may write to it for ever. */
static void capture_drain(struct capture *capture)
{
	int present = 0;

	if (capture->fd < 0 || ioctl(capture->fd, FIONREAD, &present) < 0)
		return;
	for (size_t left = (size_t)present; left > 0 && capture->fd >= 0;)
		left -= capture_read(capture, left);
}

static char *capture_take(struct capture *capture)
{
	return capture->bytes ? steal_ptr(capture->bytes) : mem_strdup("");
}

/* A text goes in as a file in memory: no writer to wait for, no SIGPIPE when nobody reads it. */
static int open_input(const char *text, struct error *err)
{
	if (!text) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return fd < 0 ? fail_errno(err, "cannot open '/dev/null'") : fd;
	}
	auto_close int fd = memfd_create("input", MFD_CLOEXEC);
	ssize_t length = (ssize_t)strlen(text);
	if (fd < 0 || pwrite(fd, text, (size_t)length, 0) != length)
		return fail_errno(err, "cannot hold a program's input");
	return steal_fd(&fd);
}

static int open_output(struct capture *capture, int *ret_child_end, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	capture->fd = ends[0];
	*ret_child_end = ends[1];
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

static int spawn(const char *const *argv, const int fds[3], pid_t *ret_pid, struct error *err)
{
	auto_free char **environment = child_environment();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int number = 0;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	set_attributes(&attributes);
	for (int i = 0; i < 3 && number == 0; i++)
		number = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (number == 0)
		number = posix_spawnp(ret_pid, argv[0], &actions, &attributes, (char *const *)argv,
				      environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (number == ENOENT)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "'%s' is not installed, or not in PATH: install it on this host",
			    argv[0]);
	errno = number;
	return number == 0 ? 0 : fail_errno(err, "cannot run '%s'", argv[0]);
}

static int start(const struct exec *exec, struct child *child, struct error *err)
{
	auto_close int in = open_input(exec->input, err);
	auto_close int out = -1;
	auto_close int error = -1;

	if (in < 0 || open_output(&child->out, &out, err) < 0 ||
	    open_output(&child->error, &error, err) < 0)
		return -1;
	if (spawn(exec->argv, (const int[]){in, out, error}, &child->pid, err) < 0)
		return -1;
	child->pidfd = pidfd_open(child->pid, 0);
	if (child->pidfd >= 0)
		return 0;
	fail_errno(err, "cannot watch '%s'", exec->argv[0]);
	kill(-child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	return -1;
}

/* Until the child has ended; -1 when it must not go on. */
static int watch(struct child *child, const char *name, int64_t timeout_ms, struct error *err)
{
	int64_t now = now_ms();
	int64_t deadline = timeout_ms < NO_DEADLINE - now ? now + timeout_ms : NO_DEADLINE;

	for (bool ended = false; !ended;) {
		int64_t left = time_left_ms(deadline);
		struct pollfd fds[] = {{.fd = child->out.fd, .events = POLLIN},
				       {.fd = child->error.fd, .events = POLLIN},
				       {.fd = child->pidfd, .events = POLLIN}};
		if (poll(fds, COUNT(fds), left < INT_MAX ? (int)left : INT_MAX) < 0 &&
		    errno != EINTR)
			return fail_errno(err, "cannot wait for '%s'", name);
		if (fds[0].revents)
			capture_read(&child->out, READ_MAX);
		if (fds[1].revents)
			capture_read(&child->error, READ_MAX);
		ended = fds[2].revents;
		if (ended) {
			capture_drain(&child->out);
			capture_drain(&child->error);
		}
		if (child->out.overflow)
			return fail(err, ERR_INTERNAL,
				    "'%s' printed more than %zu bytes and was stopped", name,
				    child->out.max);
		if (!ended && left == 0)
			return fail(err, ERR_UNAVAILABLE,
				    "'%s' did not end within %lld ms and was killed: try again",
				    name, (long long)timeout_ms);
	}
	return 0;
}

/* The exit status; 128 + signal when one ended it; -1 with errno. */
static int reap(int pidfd)
{
	siginfo_t info;

	while (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) < 0)
		if (errno != EINTR)
			return -1;
	return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

static void *reap_late(void *pidfd)
{
	auto_close int fd = (int)(intptr_t)pidfd;

	reap(fd);
	return NULL;
}

/* A zfs that waits for a suspended pool does not even die of SIGKILL: a thread waits for it. */
static int kill_group(struct child *child)
{
	struct pollfd end = {.fd = child->pidfd, .events = POLLIN};
	pthread_t thread;

	kill(-child->pid, SIGKILL);
	if (poll(&end, 1, KILL_GRACE_MS) == 1) {
		reap(child->pidfd);
	} else if (pthread_create(&thread, NULL, reap_late, (void *)(intptr_t)child->pidfd) == 0) {
		child->pidfd = -1;
		pthread_detach(thread);
	}
	return 128 + SIGKILL;
}

static void log_run(const char *const *argv, int status, int64_t milliseconds)
{
	char line[1024] = "";
	size_t used = 0;

	for (size_t i = 0; argv[i] && used < sizeof(line); i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i ? " " : "",
					 argv[i]);
	log_debug("exec", log_str("argv", line), log_int("status", status),
		  log_int("ms", milliseconds));
}

static void trim_newlines(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
}

int exec_run(const struct exec *exec, struct exec_result *ret, struct error *err)
{
	__attribute__((cleanup(child_fini))) struct child child = {
		.pidfd = -1,
		.out = {.fd = -1, .max = exec->max_output ? exec->max_output : EXEC_OUTPUT_MAX},
		.error = {.fd = -1, .max = STDERR_MAX},
	};
	int64_t timeout_ms = exec->timeout_ms ? exec->timeout_ms : EXEC_TIMEOUT_MS;
	int64_t started = now_ms();

	if (start(exec, &child, err) < 0)
		return -1;
	bool ended = watch(&child, exec->argv[0], timeout_ms, err) == 0;
	int status = ended ? reap(child.pidfd) : kill_group(&child);
	log_run(exec->argv, status, now_ms() - started);
	if (!ended)
		return -1;
	if (status < 0)
		return fail_errno(err, "cannot learn how '%s' ended", exec->argv[0]);
	*ret = (struct exec_result){.status = status,
				    .out = capture_take(&child.out),
				    .error = capture_take(&child.error)};
	trim_newlines(ret->error);
	return 0;
}

void exec_result_fini(struct exec_result *result)
{
	free(result->out);
	free(result->error);
	*result = (struct exec_result){0};
}
