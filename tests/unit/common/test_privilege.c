/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of privilege_keep(). A dropped capability cannot be regained, so that each test runs in a
 * child process. All tests need root.
 */
#include "tests/cmocka.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/exec.h"
#include "common/mem.h"
#include "common/privilege.h"

#define PRINTED_MAX 4096
#define LONG_MS     20000 /* limit for a wait, in ms; the test ends far below it */

#define DELEGATION  (PRIVILEGE_BIT(CAP_SETUID) | PRIVILEGE_BIT(CAP_SETGID))

static struct error err;
static struct exec_result result;

static void in_child(bool (*holds)(void))
{
	int status = -1;

	need_root();
	pid_t pid = fork();

	if (!pid)
		_exit(holds() ? EXIT_SUCCESS : EXIT_FAILURE);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool hold_only_kept(void)
{
	return privilege_held(CAP_CHOWN) && privilege_held(CAP_SYS_ADMIN) &&
	       !privilege_keep(PRIVILEGE_BIT(CAP_CHOWN), &err) && privilege_held(CAP_CHOWN) &&
	       !privilege_held(CAP_SYS_ADMIN) && !privilege_keep(UINT64_MAX, &err) &&
	       !privilege_held(CAP_SYS_ADMIN);
}

static void only_kept_capabilities_are_held(void **state)
{
	(void)state;
	in_child(hold_only_kept);
}

/* A program started by root would get all capabilities of the bounding set, so privilege_keep() has
 * to reduce that set too. */
static bool pass_only_kept(void)
{
	const char *const argv[] = {"awk", "$1 ~ /Cap(Prm|Eff|Bnd)/ { print $2 }",
				    "/proc/self/status", NULL};
	const char *one = "0000000000000001\n";
	size_t length = strlen(one);

	if (privilege_keep(PRIVILEGE_BIT(CAP_CHOWN), &err) ||
	    exec_run(&(struct exec){.argv = argv}, &result, &err))
		return false;
	bool same = strlen(result.out) == 3 * length;
	for (size_t i = 0; same && i < 3; i++)
		same = !strncmp(result.out + i * length, one, length);
	exec_result_fini(&result);
	return same;
}

static void programs_get_only_kept_capabilities(void **state)
{
	(void)state;
	in_child(pass_only_kept);
}

/* Without CAP_KILL the child of another user cannot be killed, but its output is closed, so that it
 * ends by SIGPIPE. poll() reports a hangup once the child no longer holds the write end of the
 * pipe. */
static bool end_verbose_program(void)
{
	const char *const argv[] = {"setpriv",        "--reuid=65534", "--regid=65534",
				    "--clear-groups", "yes",           NULL};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) || privilege_keep(DELEGATION, &err))
		return false;
	const struct exec exec = {.argv = argv, .max_output = PRINTED_MAX, .keep = ends[1]};
	if (!exec_run(&exec, &result, &err) || err.code != ERR_INTERNAL)
		return false;
	close(ends[1]);
	return poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, LONG_MS) == 1;
}

static void a_verbose_program_of_another_user_ends(void **state)
{
	(void)state;
	in_child(end_verbose_program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_kept_capabilities_are_held),
		cmocka_unit_test(programs_get_only_kept_capabilities),
		cmocka_unit_test(a_verbose_program_of_another_user_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
