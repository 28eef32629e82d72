/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of follow_start() and follow_lines() with real programs: the lines that are read, the end
 * of the program, and the end of the process that follows it.
 */
#include "tests/cmocka.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/follow.h"
#include "common/mem.h"

#define LONG_MS 20000 /* limit for a wait, in ms; every test ends far below it */

static struct error err;
static struct follow follow;

struct seen {
	int stop;
	size_t n;
	char last[FOLLOW_LINE_MAX + 1];
	char all[256];
};

static void see(void *arg, const char *line)
{
	struct seen *seen = arg;

	seen->n++;
	strcpy(seen->last, line);
	if (strlen(seen->all) + strlen(line) + 2 < sizeof(seen->all))
		strcat(strcat(seen->all, line), "|");
	if (!strcmp(line, "enough"))
		eventfd_write(seen->stop, 1);
}

static int run(const char *script, struct seen *seen)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	auto_close int stop = eventfd(0, EFD_CLOEXEC);

	*seen = (struct seen){.stop = stop};
	assert_int_equal(follow_start(&follow, argv, &err), 0);
	return follow_lines(&follow, stop, see, seen, &err);
}

static void every_line_is_delivered(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(
		run("echo one; echo; printf 'tw'; printf 'o\\nnever ended'; exit 3", &seen), -1);
	assert_string_equal(seen.all, "one||two|");
	assert_int_equal(run("seq 100000", &seen), -1);
	assert_int_equal(seen.n, 100000);
	assert_string_equal(seen.last, "100000");
}

static void the_error_says_how_the_program_ended(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(run("echo 'no such thing' >&2; echo more >&2; exit 3", &seen), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_string_equal(err.text, "'sh' ended with status 3: no such thing");
	assert_int_equal(run("head -c 100000 /dev/zero | tr '\\0' e >&2; echo out", &seen), -1);
	assert_string_equal(seen.all, "out|");
	assert_int_equal(run("kill -KILL $$", &seen), -1);
	assert_string_equal(err.text, "'sh' ended with signal 9: ");
}

static void a_long_line_is_cut(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(run("head -c 1000000 /dev/zero | tr '\\0' l; echo; echo next", &seen), -1);
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.last, "next");
	assert_int_equal(strspn(seen.all, "l"), 0);
}

static void the_program_is_killed_on_stop(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(run("trap '' TERM INT HUP IO; echo one; echo enough; sleep 1000", &seen),
			 0);
	assert_string_equal(seen.all, "one|enough|");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_missing_program_is_an_error(void **state)
{
	const char *argv[] = {"zcsi-no-such-program", NULL};

	(void)state;
	assert_int_equal(follow_start(&follow, argv, &err), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
}

/* The followed program prints nothing, so it would never get SIGPIPE. The kernel has to kill it
 * when its parent ends. */
static void the_program_does_not_outlive_its_parent(void **state)
{
	const char *argv[] = {"sleep", "1000", NULL};
	pid_t pid;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid_t us = fork();
	if (!us) {
		if (follow_start(&follow, argv, &err) ||
		    write(ends[1], &follow.child.pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	waitpid(us, NULL, 0);
	/* pidfd_open() fails if the program has already ended. */
	if (end.fd >= 0)
		assert_int_equal(poll(&end, 1, LONG_MS), 1);
	close(end.fd);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_is_delivered),
		cmocka_unit_test(the_error_says_how_the_program_ended),
		cmocka_unit_test(a_long_line_is_cut),
		cmocka_unit_test(the_program_is_killed_on_stop),
		cmocka_unit_test(a_missing_program_is_an_error),
		cmocka_unit_test(the_program_does_not_outlive_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
