/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Following a program: one poll over its pipes, its end and the order to stop.
 *
 * Invariant: memory is bounded whatever the program prints, and every line that it ended with a
 * newline is handed on. Starting it again is for the caller.
 */
#include "common/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

#define SAID_MAX 512

struct lines {
	void (*line)(void *arg, const char *line);
	void *arg;
	size_t used;
	char text[FOLLOW_LINE_MAX + 1];
};

/* Add bytes. The part after the last newline waits for the end of its line. */
static void take(struct lines *lines, const char *bytes, size_t n)
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

/* Read once after poll promised bytes. Returns 0 at the end of the pipe, which is closed then. */
static size_t read_some(int *fd, char *ret, size_t max)
{
	ssize_t n = read(*fd, ret, max);

	if (n > 0)
		return (size_t)n;
	if (n == 0 || errno != EINTR)
		close(steal_fd(fd));
	return 0;
}

/* Keep the first bytes of stderr, as far as they fit. */
static void listen_to(int *fd, char *said, size_t *used)
{
	char bytes[SAID_MAX];
	size_t n = read_some(fd, bytes, sizeof(bytes));

	if (n > SAID_MAX - *used)
		n = SAID_MAX - *used;
	memcpy(said + *used, bytes, n);
	*used += n;
}

int follow_start(struct follow *follow, const char *const *argv, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	auto_close int theirs = ends[0];
	auto_close int ours = ends[1];
	if (child_start(&follow->child, argv, theirs, 0, err))
		return -1;
	/* O_ASYNC belongs to what the pipe's end and the child's stdin both are. */
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

/* Returns 1 when asked to stop, 0 when the program ended and every line was taken, else -1. */
static int watch(struct follow *follow, int stop, struct lines *lines, char *said, size_t *used)
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
			take(lines, bytes, read_some(&child->out, bytes, sizeof(bytes)));
		if (fds[2].revents)
			listen_to(&child->error, said, used);
		if (fds[3].revents && !fds[1].revents && !fds[2].revents)
			return 0;
	}
}

int follow_lines(struct follow *follow, int stop, void (*line)(void *arg, const char *line),
		 void *arg, struct error *err)
{
	struct lines lines = {.line = line, .arg = arg};
	char said[SAID_MAX + 1] = "";
	size_t used = 0;

	int how = watch(follow, stop, &lines, said, &used);
	if (how < 0)
		fail_errno(err, "cannot wait for '%s'", follow->name);
	if (how) {
		follow_end(follow);
		return how > 0 ? 0 : -1;
	}
	const int status = child_reap(&follow->child), signal = child_signal(status);
	fail(err, ERR_UNAVAILABLE, "'%s' ended with %s %d: %.*s", follow->name,
	     signal ? "signal" : "status", signal ? signal : status, (int)strcspn(said, "\n"),
	     said);
	close_all(follow);
	return -1;
}
