/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the list of hung programs: a zfs that exceeded its timeout is reported, stays in the
 * list until it ends, and is reaped.
 */
#include "tests/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/mem.h"
#include "node/zfs/hung.h"

#define LONG_MS 20000

static unsigned n_reported;

static void report(void *arg, const char *text)
{
	assert_ptr_equal(arg, &n_reported);
	assert_non_null(strstr(text, "'zpool clear"));
	n_reported++;
}

/* A child that ends when the test closes the write end of its stdin. */
struct cat {
	int input, pidfd;
};

static void start(struct cat *cat)
{
	struct child child;
	struct error err;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(child_start(&child, (const char *const[]){"cat", NULL}, ends[0], 0, &err),
			 0);
	close(ends[0]);
	*cat = (struct cat){ends[1], child.pidfd};
	child.pidfd = -1;
	child_fini(&child);
}

static void add(const struct cat *cat, const char *verb, const char *name)
{
	struct error err;

	assert_int_equal(hung_add(cat->pidfd, (const char *const[]){"zfs", verb, "-o", name, NULL},
				  &err),
			 -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.text, verb));
	assert_non_null(strstr(err.text, name));
	assert_non_null(strstr(err.text, "'zpool clear tank'"));
}

static void end(const struct cat *cat)
{
	struct pollfd ended = {.fd = cat->pidfd, .events = POLLIN};

	close(cat->input);
	assert_int_equal(poll(&ended, 1, LONG_MS), 1);
}

static void assert_lists(const char *name)
{
	auto_free char *text = hung_text();

	assert_non_null(text);
	assert_non_null(strstr(text, name));
}

static void assert_reported(const char *const *argv, const char *text)
{
	struct error err;
	struct cat cat;

	start(&cat);
	assert_int_equal(hung_add(cat.pidfd, argv, &err), -1);
	assert_non_null(strstr(err.text, text));
	end(&cat);
	assert_null(hung_text());
}

static void a_pool_is_named_only_if_the_command_line_names_one(void **state)
{
	(void)state;
	hung_watch(report, &n_reported);
	assert_reported((const char *const[]){"zfs", "program", "--", "tank", "-", "7", "tank/p/v",
					      "v", NULL},
			"'zfs program' of 'tank' has not ended and may still take effect, so pool "
			"'tank' is unavailable");
	assert_reported((const char *const[]){"zfs", "send", "-nvP", "-t", "1-abc-def", NULL},
			"'zfs send' has not ended, so the pool is unavailable");
}

static void hung_programs_are_listed_until_they_end(void **state)
{
	struct cat first, second, third;

	(void)state;
	hung_watch(report, &n_reported);
	assert_null(hung_text());
	start(&first);
	start(&second);
	start(&third);
	add(&first, "create", "tank/p/a");
	add(&second, "snapshot", "tank/p/a@s");
	add(&third, "get", "tank");
	assert_int_equal(n_reported, 3);
	end(&third);
	assert_lists("tank/p/a@s");
	end(&first);
	assert_lists("tank/p/a@s");
	end(&second);
	assert_null(hung_text());
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hung_programs_are_listed_until_they_end),
		cmocka_unit_test(a_pool_is_named_only_if_the_command_line_names_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
