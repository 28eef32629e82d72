/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Runs a program to its end, with one poll over both pipes and the child's pidfd. The caller
 * interprets the exit status.
 *
 * Invariant: exec_run returns when the child has ended. A grandchild that inherited a pipe does not
 * delay it: the bytes in the pipes at the child's end are read, later ones are not. A child that
 * exceeds a limit is killed with its process group, or its pidfd is passed to the caller, which
 * waits for it.
 */
#include "common/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

#define STDERR_MAX ((size_t)32768) /* bytes of stderr that are kept: 64 lines about names of ZFS */
#define READ_MAX   ((size_t)16384)

/* An output of the child: the read end of its pipe, and the bytes read from it. */
struct capture {
	int fd; /* -1 once the pipe was read to its end */
	char *bytes;
	size_t used, size, max;
	bool overflow;
};

struct run {
	struct child child;
	int in;
	struct capture out, error;
};

/*
 * Overwrite the file that was the child's stdin with zeros, because it may hold a secret: the pages
 * of a closed file keep their contents.
 */
static void wipe(int fd)
{
	static const char zeros[4096];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	for (off_t at = 0; at < st.st_size; at += (off_t)sizeof(zeros))
		if (pwrite(fd, zeros, sizeof(zeros), at) < 0)
			return;
}

static void run_fini(struct run *run)
{
	child_fini(&run->child);
	wipe(run->in);
	mem_cleanup_close(&run->in);
	mem_cleanup_close(&run->out.fd);
	mem_cleanup_close(&run->error.fd);
	free(run->out.bytes);
	free(run->error.bytes);
}

/* Append n bytes. Bytes beyond capture->max are dropped, and overflow is set. */
static void capture_add(struct capture *capture, const char *bytes, size_t n)
{
	if (n > capture->max - capture->used) {
		n = capture->max - capture->used;
		capture->overflow = true;
	}
	if (capture->used + n >= capture->size) {
		size_t doubled = 2 * (capture->used + n);
		capture->size = (doubled < capture->max ? doubled : capture->max) + 1;
		capture->bytes = mem_resize(capture->bytes, capture->size);
	}
	memcpy(capture->bytes + capture->used, bytes, n);
	capture->used += n;
	capture->bytes[capture->used] = '\0';
}

/*
 * Read one chunk of at most max bytes. Blocks unless poll or FIONREAD reported bytes to read.
 * Returns the number of bytes; 0 at the end of the pipe, which is then closed.
 */
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

/* Read the bytes that are in the pipe now. Later ones are not read: a grandchild may never stop. */
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

/*
 * Open the input as a file in memory, or /dev/null if text is NULL. A file, unlike a pipe, needs no
 * thread to write it and causes no SIGPIPE. Returns its descriptor, or -1.
 */
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

static int start(const struct exec *exec, struct run *run, struct error *err)
{
	run->in = open_input(exec->input, err);
	if (run->in < 0 || child_start(&run->child, exec->argv, run->in, exec->keep, err) < 0)
		return -1;
	run->out.fd = steal_fd(&run->child.out);
	run->error.fd = steal_fd(&run->child.error);
	return 0;
}

/* Check that the output so far is not too long, and that it begins with exec->begins. */
static int check_output(const struct capture *out, const struct exec *exec, struct error *err)
{
	const size_t length = exec->begins ? strlen(exec->begins) : 0;

	if (out->overflow)
		return fail(err, ERR_INTERNAL, "'%s' printed more than %zu bytes and was stopped",
			    exec->argv[0], out->max);
	if (out->used && length &&
	    strncmp(out->bytes, exec->begins, out->used < length ? out->used : length) != 0)
		return fail(err, ERR_INTERNAL,
			    "'%s' printed something else than '%s' first and was stopped",
			    exec->argv[0], exec->begins);
	return 0;
}

static int fail_stopped(const struct exec *exec, struct error *err)
{
	return fail(err, ERR_CANCELLED, "'%s' was stopped", exec->argv[0]);
}

static bool is_stopped(const struct exec *exec)
{
	struct pollfd stop = {.fd = exec->stop, .events = POLLIN};

	return exec->stop && poll(&stop, 1, 0) == 1;
}

/*
 * Collect output until the child has ended. Returns -1 with *err, before the child is reaped, if it
 * ran too long, if its output is too long or wrong, or if exec->stop is readable.
 */
static int watch(struct run *run, const struct exec *exec, struct error *err)
{
	const char *name = exec->argv[0];
	int64_t timeout_ms = exec->timeout_ms ? exec->timeout_ms : EXEC_TIMEOUT_MS;
	int64_t now = now_ms();
	int64_t deadline = timeout_ms < NO_DEADLINE - now ? now + timeout_ms : NO_DEADLINE;

	for (bool ended = false; !ended;) {
		int64_t left = time_left_ms(deadline);
		struct pollfd fds[] = {{.fd = run->out.fd, .events = POLLIN},
				       {.fd = run->error.fd, .events = POLLIN},
				       {.fd = run->child.pidfd, .events = POLLIN},
				       {.fd = exec->stop ? exec->stop : -1, .events = POLLIN}};
		if (poll(fds, COUNT(fds), left < INT_MAX ? (int)left : INT_MAX) < 0 &&
		    errno != EINTR)
			return fail_errno(err, "cannot wait for '%s'", name);
		if (fds[0].revents)
			capture_read(&run->out, READ_MAX);
		if (fds[1].revents)
			capture_read(&run->error, READ_MAX);
		ended = fds[2].revents;
		if (ended) {
			capture_drain(&run->out);
			capture_drain(&run->error);
		}
		if (check_output(&run->out, exec, err) < 0)
			return -1;
		if (!ended && fds[3].revents)
			return fail_stopped(exec, err);
		if (!ended && left == 0)
			return fail(err, ERR_UNAVAILABLE,
				    "'%s' did not end within %lld ms and was killed: try again",
				    name, (long long)timeout_ms);
	}
	return 0;
}

/*
 * Kill the child. If it timed out and the caller asked for its pidfd by ret_left, pass the pidfd
 * on instead and leave the child running. Returns a status for the log.
 */
static int give_up(const struct exec *exec, struct run *run, const struct error *err)
{
	if (!exec->ret_left || err->code != ERR_UNAVAILABLE)
		return child_kill(&run->child);
	*exec->ret_left = steal_fd(&run->child.pidfd);
	return -1;
}

static void log_run(const char *const *argv, int status, int64_t milliseconds)
{
	const int signal = child_signal(status);
	char line[1024] = "";
	size_t used = 0;

	for (size_t i = 0; argv[i] && used < sizeof(line); i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i ? " " : "",
					 argv[i]);
	log_debug("program was run", log_str("argv", line),
		  log_int(signal ? "signal" : "status", signal ? signal : status),
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
	__attribute__((cleanup(run_fini))) struct run run = {
		.child = CHILD_NONE,
		.in = -1,
		.out = {.fd = -1, .max = exec->max_output ? exec->max_output : EXEC_OUTPUT_MAX},
		.error = {.fd = -1, .max = STDERR_MAX},
	};
	int64_t started = now_ms();

	if (is_stopped(exec))
		return fail_stopped(exec, err);
	if (start(exec, &run, err) < 0)
		return -1;
	bool ended = watch(&run, exec, err) == 0;
	int status = ended ? child_reap(&run.child) : give_up(exec, &run, err);
	log_run(exec->argv, status, now_ms() - started);
	if (exec->ret_length)
		*exec->ret_length = run.out.used + run.out.overflow;
	if (!ended)
		return -1;
	if (status < 0)
		return fail_errno(err, "cannot get the exit status of '%s'", exec->argv[0]);
	*ret = (struct exec_result){
		.status = status, .out = capture_take(&run.out), .error = capture_take(&run.error)};
	trim_newlines(ret->error);
	return 0;
}

void exec_result_fini(struct exec_result *result)
{
	free(result->out);
	free(result->error);
	*result = (struct exec_result){0};
}
