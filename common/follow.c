/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Follows a program, with one poll over its pipes, its pidfd and the descriptor that ends the
 * following. The caller restarts a program that has ended.
 *
 * Invariant: memory is bounded for any output, and every line that ends with a newline is passed to
 * the caller.
 */
#include "common/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

#define STDERR_MAX 512 /* bytes of stderr that are kept for the error text */

struct lines {
	void (*line)(void *arg, const char *line);
	void *arg;
	size_t used;
	char text[FOLLOW_LINE_MAX + 1];
};

/* Add n bytes and pass on each complete line. The rest is kept until its newline is read. */
static void split(struct lines *lines, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n') {
			lines->text[lines->used] = '\0';
			lines->used = 0;
			lines->line(lines->arg, lines->text);
		} else if (lines->used < FOLLOW_LINE_MAX) {
			lines->text[lines->used++] = bytes[i];
		}
	}
}

/*
 * Read at most max bytes, after poll reported that there are some. Returns their number; 0 at the
 * end of the pipe, which is then closed.
 */
static size_t read_some(int *fd, char *ret, size_t max)
{
	ssize_t n = read(*fd, ret, max);

	if (n > 0)
		return (size_t)n;
	if (n == 0 || errno != EINTR)
		close(steal_fd(fd));
	return 0;
}

/* Read from stderr, and keep the first STDERR_MAX bytes in text, which has *used bytes. */
static void read_stderr(int *fd, char *text, size_t *used)
{
	char bytes[STDERR_MAX];
	size_t n = read_some(fd, bytes, sizeof(bytes));

	if (n > STDERR_MAX - *used)
		n = STDERR_MAX - *used;
	memcpy(text + *used, bytes, n);
	*used += n;
}

int follow_start(struct follow *follow, const char *const *argv, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	auto_close int theirs = ends[0];
	auto_close int ours = ends[1];
	if (child_start(&follow->child, argv, theirs, 0, err) < 0)
		return -1;
	/*
	 * O_ASYNC belongs to the open file description, which the child's stdin shares. It makes
	 * the kernel send SIGIO to the child when the write end is closed.
	 */
	if (fcntl(theirs, F_SETOWN, follow->child.pid) < 0 || fcntl(theirs, F_SETFL, O_ASYNC) < 0) {
		fail_errno(err, "cannot tie '%s' to us", argv[0]);
		child_kill(&follow->child);
		child_fini(&follow->child);
		return -1;
	}
	follow->lifeline = steal_fd(&ours);
	follow->name = argv[0];
	return 0;
}

static void close_all(struct follow *follow)
{
	child_fini(&follow->child);
	close(steal_fd(&follow->lifeline));
}

void follow_end(struct follow *follow)
{
	child_kill(&follow->child);
	close_all(follow);
}

/*
 * Returns 1 when stop is readable, 0 when the program has ended and all its lines were passed on,
 * or -1 with errno.
 */
static int watch(struct follow *follow, int stop, struct lines *lines, char *error, size_t *used)
{
	struct child *child = &follow->child;

	for (;;) {
		struct pollfd fds[] = {{.fd = stop, .events = POLLIN},
				       {.fd = child->out, .events = POLLIN},
				       {.fd = child->error, .events = POLLIN},
				       {.fd = child->pidfd, .events = POLLIN}};
		char bytes[4096];
		if (poll(fds, COUNT(fds), -1) < 0) {
			if (errno != EINTR)
				return -1;
			continue;
		}
		if (fds[0].revents)
			return 1;
		if (fds[1].revents)
			split(lines, bytes, read_some(&child->out, bytes, sizeof(bytes)));
		if (fds[2].revents)
			read_stderr(&child->error, error, used);
		if (fds[3].revents && !fds[1].revents && !fds[2].revents)
			return 0;
	}
}

int follow_lines(struct follow *follow, int stop, void (*line)(void *arg, const char *line),
		 void *arg, struct error *err)
{
	struct lines lines = {.line = line, .arg = arg};
	char error[STDERR_MAX + 1] = "";
	size_t used = 0;

	int how = watch(follow, stop, &lines, error, &used);
	if (how < 0)
		fail_errno(err, "cannot wait for '%s'", follow->name);
	if (how) {
		follow_end(follow);
		return how > 0 ? 0 : -1;
	}
	const int status = child_reap(&follow->child), signal = child_signal(status);
	fail(err, ERR_UNAVAILABLE, "'%s' ended with %s %d: %.*s", follow->name,
	     signal ? "signal" : "status", signal ? signal : status, (int)strcspn(error, "\n"),
	     error);
	close_all(follow);
	return -1;
}
