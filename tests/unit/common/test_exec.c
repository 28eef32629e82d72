/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of exec_run() with real programs. No test may leave a descriptor open. A test detects the
 * end of a child by end of file on a pipe whose write end only the child and its children hold.
 */
#include "tests/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/exec.h"
#include "common/log.h"
#include "common/mem.h"
#include "tests/unit/starter.h"

#define TRIES   2000
#define LONG_MS 20000 /* limit for a whole test, in ms; every test ends far below it */

static struct error err;
static struct exec_result result;

#define run(...) exec_run(&(struct exec){__VA_ARGS__}, &result, &err)
#define program(...)                                                                               \
	.argv = (const char *const[])                                                              \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}
#define shell(script) program("sh", "-c", script)

static int count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(directory))
		n++;
	closedir(directory);
	return n;
}

static int descriptors_before;
static int64_t started;

static int begin(void **state)
{
	(void)state;
	descriptors_before = count_descriptors();
	started = now_ms();
	return 0;
}

static int end(void **state)
{
	(void)state;
	exec_result_fini(&result);
	if (now_ms() - started > LONG_MS || count_descriptors() != descriptors_before)
		return -1;
	return 0;
}

static void status_and_both_outputs_are_returned(void **state)
{
	(void)state;

	assert_int_equal(run(shell("echo out; echo error >&2; echo >&2; exit 3")), 0);
	assert_int_equal(result.status, 3);
	assert_string_equal(result.out, "out\n");
	assert_string_equal(result.error, "error");
}

static void no_output_is_empty_text(void **state)
{
	(void)state;

	assert_int_equal(run(program("true")), 0);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.out, "");
	assert_string_equal(result.error, "");
}

static void arguments_are_not_read_by_a_shell(void **state)
{
	(void)state;

	assert_int_equal(run(program("printf", "%s|", "a b", "", "$HOME;*", "'")), 0);
	assert_string_equal(result.out, "a b||$HOME;*|'|");
}

static void death_by_signal_is_not_an_exit_status(void **state)
{
	(void)state;

	assert_int_equal(run(shell("kill -TERM $$")), 0);
	assert_int_equal(child_signal(result.status), SIGTERM);
}

static void missing_program_is_named(void **state)
{
	(void)state;

	assert_int_equal(run(program("zcsi-no-such-program")), -1);
	assert_int_equal(err.code, ERR_FAILED_PRECONDITION);
	assert_string_equal(err.text, "'zcsi-no-such-program' is not installed, or not in PATH: "
				      "install it on this host");
	assert_int_equal(run(program("/dev/null")), -1);
	assert_int_equal(err.code, ERR_PERMISSION_DENIED);
	assert_string_equal(err.text, "cannot run '/dev/null': Permission denied");
}

static void input_is_given_whole(void **state)
{
	(void)state;
	auto_free char *text = mem_alloc(300001);

	assert_int_equal(run(program("cat")), 0);
	assert_string_equal(result.out, "");
	exec_result_fini(&result);
	memset(text, 'i', 300000);
	assert_int_equal(run(program("cat"), .input = text), 0);
	assert_string_equal(result.out, text);
	exec_result_fini(&result);
	assert_int_equal(run(program("true"), .input = text), 0);
	assert_int_equal(result.status, 0);
}

/* The child leaves a process behind that keeps its input open as descriptor 8 until descriptor 3
 * has no writer. The test reads the input again through /proc. */
static void input_is_wiped_at_the_end(void **state)
{
	(void)state;
	char text[64], read_back[6] = "before";
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(run(shell("head -c 6; exec 8<&0; read x <&3 & echo $!"), .input = "secret",
			     .keep = ends[0]),
			 0);
	assert_memory_equal(result.out, "secret", 6);
	snprintf(text, sizeof(text), "/proc/%d/fd/8", atoi(result.out + 6));
	int kept = open(text, O_RDONLY | O_CLOEXEC);
	assert_true(kept >= 0);
	assert_int_equal(pread(kept, read_back, 6, 0), 6);
	assert_memory_equal(read_back, "\0\0\0\0\0\0", 6);
	close(kept);
	close(ends[0]);
	close(ends[1]);
}

static void ten_megabytes_are_returned_whole(void **state)
{
	(void)state;
	const size_t size = (size_t)10 << 20;

	assert_int_equal(run(shell("head -c 10485760 /dev/zero | tr '\\0' x; echo e >&2"),
			     .max_output = size),
			 0);
	assert_int_equal(strlen(result.out), size);
	assert_int_equal(strspn(result.out, "x"), size);
	assert_string_equal(result.error, "e");
}

static void stdout_beyond_its_bound_fails(void **state)
{
	size_t n;

	(void)state;
	assert_int_equal(run(program("yes"), .max_output = 1000, .ret_length = &n), -1);
	assert_int_equal(n, 1001);
	assert_int_equal(err.code, ERR_INTERNAL);
	assert_string_equal(err.text, "'yes' printed more than 1000 bytes and was stopped");
	assert_int_equal(run(program("printf", "1234"), .max_output = 4), 0);
	assert_string_equal(result.out, "1234");
	exec_result_fini(&result);
	assert_int_equal(run(program("printf", "12345"), .max_output = 4), -1);
	assert_int_equal(err.code, ERR_INTERNAL);
	assert_int_equal(run(program("yes")), -1);
	assert_string_equal(err.text, "'yes' printed more than 1048576 bytes and was stopped");
}

static void the_length_of_stdout_counts_zero_bytes(void **state)
{
	size_t n = 0;

	(void)state;
	assert_int_equal(run(program("printf", "1\\0002"), .ret_length = &n), 0);
	assert_int_equal(n, 3);
	assert_memory_equal(result.out, ((const char[]){'1', 0, '2', 0}), 4);
}

/* A program is stopped at once if its output does not begin with the expected text. Otherwise the
 * program of this test would run until its timeout. */
static void stdout_that_begins_otherwise_fails_at_once(void **state)
{
	(void)state;

	assert_int_equal(run(shell("printf yet; exec sleep 1000"), .begins = "yes\n",
			     .timeout_ms = 100000),
			 -1);
	assert_int_equal(err.code, ERR_INTERNAL);
	assert_string_equal(err.text,
			    "'sh' printed something else than 'yes\n' first and was stopped");
	assert_int_equal(run(program("printf", "yes, no"), .begins = "yes,"), 0);
	assert_string_equal(result.out, "yes, no");
	exec_result_fini(&result);
	assert_int_equal(run(program("true"), .begins = "yes,"), 0);
	exec_result_fini(&result);
	assert_int_equal(run(program("printf", "no"), .begins = "yes,"), -1);
}

static void stderr_beyond_its_bound_is_dropped(void **state)
{
	(void)state;

	assert_int_equal(run(shell("head -c 1000000 /dev/zero | tr '\\0' e >&2; echo end")), 0);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.out, "end\n");
	assert_int_equal(strlen(result.error), 32768);
	assert_int_equal(strspn(result.error, "e"), 32768);
}

/* Wait until all children have ended. witness is a pipe whose write end only they hold; its read
 * end reports end of file when the last one has ended. */
static void assert_all_dead(int witness[2])
{
	struct pollfd hangup = {.fd = witness[0], .events = POLLIN};
	char byte;

	close(witness[1]);
	assert_int_equal(poll(&hangup, 1, LONG_MS), 1);
	assert_int_equal(read(witness[0], &byte, 1), 0);
	close(witness[0]);
}

static void timeout_kills_the_whole_group(void **state)
{
	(void)state;
	int witness[2];

	assert_int_equal(pipe2(witness, O_CLOEXEC), 0);
	assert_int_equal(run(shell("sleep 1000 & sleep 1000 & wait"), .keep = witness[1],
			     .timeout_ms = 100),
			 -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_string_equal(err.text, "'sh' did not end within 100 ms and was killed: try again");
	assert_true(now_ms() - started >= 100);
	assert_all_dead(witness);
}

static void timeout_ends_a_child_that_prints_forever(void **state)
{
	(void)state;
	int witness[2];

	assert_int_equal(pipe2(witness, O_CLOEXEC), 0);
	assert_int_equal(run(shell("while :; do echo e >&2; done"), .keep = witness[1],
			     .timeout_ms = 100),
			 -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_all_dead(witness);
}

/* After the timeout the child keeps running; its pidfd goes to the caller, who can wait for its
 * exit status. */
static void a_child_left_at_its_timeout_keeps_running(void **state)
{
	(void)state;
	struct child left = CHILD_NONE;
	int gate[2];

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	assert_int_equal(run(shell("read line <&3; exit 7"), .keep = gate[0], .timeout_ms = 100,
			     .ret_left = &left.pidfd),
			 -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
	assert_false(child_has_ended(&left));
	assert_int_equal(write(gate[1], "\n", 1), 1);
	assert_int_equal(child_reap(&left), 7);
	child_fini(&left);
	close(gate[0]);
	close(gate[1]);
}

/* A child that is stopped because of its output was not stopped by the timeout, so it is killed,
 * and ret_left stays unset. */
static void a_child_that_prints_too_much_is_killed(void **state)
{
	(void)state;
	int left = -1;

	assert_int_equal(
		run(shell("while :; do echo e; done"), .max_output = 10, .ret_left = &left), -1);
	assert_int_equal(err.code, ERR_INTERNAL);
	assert_int_equal(left, -1);
}

/* The child asks to be stopped itself: its descriptor 3 is the other end of `stop`. */
static void a_child_that_is_stopped_is_killed(void **state)
{
	(void)state;
	int ends[2], witness[2], left = -1;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pipe2(witness, O_CLOEXEC), 0);
	assert_int_equal(run(shell("echo >&3; sleep 1000"), .keep = ends[1], .stop = ends[0],
			     .ret_left = &left),
			 -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_int_equal(left, -1);
	assert_int_equal(run(shell("echo >&3"), .keep = witness[1], .stop = ends[0]), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_all_dead(witness);
	close(ends[0]);
	close(ends[1]);
}

static void closed_outputs_are_not_the_end(void **state)
{
	(void)state;

	assert_int_equal(run(shell("exec >&- 2>&-; sleep 0.1; exit 7")), 0);
	assert_int_equal(result.status, 7);
	exec_result_fini(&result);
	assert_int_equal(run(shell("exec >&- 2>&-; sleep 1000"), .timeout_ms = 100), -1);
	assert_int_equal(err.code, ERR_UNAVAILABLE);
}

/* The pid of the grandchild is in the output, so that the test can kill it. */
static void grandchild_with_the_pipes_does_not_delay_the_result(void **state)
{
	(void)state;

	assert_int_equal(run(shell("sleep 1000 & echo $!; exit 5")), 0);
	assert_int_equal(result.status, 5);
	assert_int_equal(kill(atoi(result.out), SIGKILL), 0);
	exec_result_fini(&result);
	assert_int_equal(run(shell("while :; do echo e >&2 || exit; done & echo $!")), 0);
	assert_int_equal(result.status, 0);
	assert_true(atoi(result.out) > 1);
	kill(atoi(result.out), SIGKILL);
}

static void child_has_default_signals_and_a_group_of_its_own(void **state)
{
	(void)state;
	sigset_t mask, before;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, &before);
	signal(SIGPIPE, SIG_IGN);
	int outcome = run(program("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"));
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(outcome, 0);
	unsigned long blocked = 1, ignored = 1;
	assert_int_equal(sscanf(result.out, "SigBlk: %lx SigIgn: %lx", &blocked, &ignored), 2);
	assert_int_equal(blocked, 0);
	/* The C library reserves signals 32 and 33. */
	assert_int_equal(ignored & 0x7fffffff, 0);
	exec_result_fini(&result);
	assert_int_equal(run(program("cut", "-d ", "-f1,5", "/proc/self/stat")), 0);
	int pid = 0, group = 0;
	assert_int_equal(sscanf(result.out, "%d %d", &pid, &group), 2);
	assert_int_equal(pid, group);
}

static void child_runs_in_the_c_locale(void **state)
{
	(void)state;

	setenv("LC_ALL", "de_DE.UTF-8", 1);
	setenv("ZCSI_KEPT", "kept", 1);
	assert_int_equal(run(program("env")), 0);
	unsetenv("LC_ALL");
	unsetenv("ZCSI_KEPT");
	assert_non_null(strstr(result.out, "LC_ALL=C\n"));
	assert_null(strstr(result.out, "LC_ALL=de"));
	assert_non_null(strstr(result.out, "ZCSI_KEPT=kept\n"));
}

/* Only 0, 1, 2 and the descriptor that ls opens for the folder are listed, although the test has
 * another descriptor open without O_CLOEXEC. */
static void child_inherits_no_other_descriptor(void **state)
{
	(void)state;
	auto_close int open_for_all = dup(STDERR_FILENO);

	assert_true(open_for_all >= 0);
	assert_int_equal(run(program("ls", "/proc/self/fd"), .input = "text"), 0);
	assert_string_equal(result.out, "0\n1\n2\n3\n");
}

/* The pipe reports end of file once the child has ended and the test has closed its own write
 * end. */
static void child_keeps_the_given_descriptor_until_it_ends(void **state)
{
	(void)state;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(run(shell("sleep 1000 >&- 2>&- & echo $! >&3"), .keep = ends[1]), 0);
	char number[16] = "";
	assert_true(read(ends[0], number, sizeof(number) - 1) > 0);
	close(ends[1]);
	struct pollfd hangup = {.fd = ends[0], .events = POLLIN};
	assert_int_equal(poll(&hangup, 1, 0), 0);
	assert_int_equal(kill(atoi(number), SIGKILL), 0);
	assert_int_equal(poll(&hangup, 1, LONG_MS), 1);
	assert_int_equal(read(ends[0], number, 1), 0);
	close(ends[0]);
}

/* A child that another thread is starting holds copies of all descriptors until it executes its
 * program. child_settle() waits for that. */
static void child_settle_waits_for_copies_of_descriptors(void **state)
{
	(void)state;
	struct starter starter;
	int had = 0;

	starter_start(&starter);
	for (int i = 0; i < TRIES; i++) {
		int ends[2];
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		close(ends[1]);
		child_settle();
		had += poll(&(struct pollfd){.fd = ends[0]}, 1, 0) != 1;
		close(ends[0]);
	}
	starter_stop(&starter);
	assert_int_equal(had, 0);
}

static void each_run_logs_a_debug_line(void **state)
{
	(void)state;
	auto_close int saved = dup(STDERR_FILENO);
	auto_close int file = memfd_create("stderr", MFD_CLOEXEC);
	char lines[4096] = "";

	dup2(file, STDERR_FILENO);
	assert_int_equal(log_setup("debug", "logfmt", &err), 0);
	run(shell("exit 9"));
	exec_result_fini(&result);
	run(program("sleep", "1000"), .timeout_ms = 1);
	run(program("zcsi-no-such-program"));
	assert_int_equal(log_setup("info", "logfmt", &err), 0);
	dup2(saved, STDERR_FILENO);
	assert_true(pread(file, lines, sizeof(lines) - 1, 0) > 0);
	char *second = strchr(lines, '\n') + 1;
	assert_non_null(strstr(
		lines, "level=debug msg=\"program was run\" argv=\"sh -c exit 9\" status=9 ms="));
	assert_non_null(strstr(second, "msg=\"program was run\" argv=\"sleep 1000\" signal=9 ms="));
	assert_int_equal(strcspn(second, "\n") + 1, strlen(second));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(status_and_both_outputs_are_returned),
		TEST(no_output_is_empty_text),
		TEST(arguments_are_not_read_by_a_shell),
		TEST(death_by_signal_is_not_an_exit_status),
		TEST(missing_program_is_named),
		TEST(input_is_given_whole),
		TEST(input_is_wiped_at_the_end),
		TEST(ten_megabytes_are_returned_whole),
		TEST(stdout_beyond_its_bound_fails),
		TEST(the_length_of_stdout_counts_zero_bytes),
		TEST(stdout_that_begins_otherwise_fails_at_once),
		TEST(stderr_beyond_its_bound_is_dropped),
		TEST(timeout_kills_the_whole_group),
		TEST(a_child_left_at_its_timeout_keeps_running),
		TEST(a_child_that_prints_too_much_is_killed),
		TEST(a_child_that_is_stopped_is_killed),
		TEST(timeout_ends_a_child_that_prints_forever),
		TEST(closed_outputs_are_not_the_end),
		TEST(grandchild_with_the_pipes_does_not_delay_the_result),
		TEST(child_has_default_signals_and_a_group_of_its_own),
		TEST(child_runs_in_the_c_locale),
		TEST(child_inherits_no_other_descriptor),
		TEST(child_keeps_the_given_descriptor_until_it_ends),
		TEST(child_settle_waits_for_copies_of_descriptors),
		TEST(each_run_logs_a_debug_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
