/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A zcsi that asks the agents in memory, for tests of its commands. A test program includes this
 * file after scripted_agents.c.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "controller/cli/cli.h"

static struct cli cli;
static struct error err;
static bool only_reads; /* the program aborts before a call that changes something */

static int cli_begin(void **state)
{
	static const char *values[] = {"unix:///a", "unix:///b", "unix:///c", "unix:///b"};
	static const struct option_list named = {values, COUNT(values)};
	static const struct trust trust;
	const struct fleet_options options = {
		.named = &named, .trust = &trust, .timeout_ms = 1000, .only_reads = only_reads};

	assert_int_equal(scripted_setup(state), 0);
	cli = (struct cli){.style = {.bare = true}};
	err = (struct error){0};
	arena_init(&cli.arena, SIZE_MAX);
	assert_int_equal(fleet_open(&cli.fleet, &options, &err), 0);
	return 0;
}

static int cli_end(void **state)
{
	fleet_close(cli.fleet);
	arena_fini(&cli.arena);
	return scripted_teardown(state);
}

static void ask_members(void)
{
	cli.members = fleet_members(cli.fleet, &cli.arena, &cli.n_members);
}

/* Run a command with an argument. Returns what the command printed; *ret is the command's
 * result. */
__attribute__((unused)) static char *printed(command_fn *run, const char *arg, int *ret)
{
	const char **args = arena_alloc(&cli.arena, sizeof(*args));
	int file = memfd_create("stdout", MFD_CLOEXEC), saved = dup(STDOUT_FILENO);
	char *text = arena_alloc(&cli.arena, 1 << 16);

	args[0] = arg;
	cli.args = args;
	cli.n_args = 1;
	ask_members();
	fflush(stdout);
	assert_true(file >= 0 && saved >= 0 && dup2(file, STDOUT_FILENO) >= 0);
	*ret = run(&cli, &err);
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	assert_true(pread(file, text, (1 << 16) - 1, 0) >= 0);
	close(saved);
	close(file);
	return text;
}

#define CLI_TEST(name) cmocka_unit_test_setup_teardown(name, cli_begin, cli_end)
