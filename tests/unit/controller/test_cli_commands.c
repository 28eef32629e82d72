/* SPDX-License-Identifier: MPL-2.0 */
/* Tests of the table of commands: every command that changes something has --dry-run, and an error
 * about an option names all commands that read it. */
#include "controller/cli/command.h"

#include <string.h>

#include "tests/arena.h"
#include "tests/cmocka.h"

/* The commands, with their verbs, that change nothing. All others have --dry-run. */
static const char *const readers[] = {
	"status",     "doctor",      "check",         "list",          "show",
	"why",        "snapshots",   "nodes",         "copies",        "send",
	"completion", "backup list", "diverged list", "diverged diff", "trash list",
};

static bool is_reader(const char *name)
{
	for (size_t i = 0; i < COUNT(readers); i++)
		if (strcmp(readers[i], name) == 0)
			return true;
	return false;
}

/* Check a command, or a verb of it. Returns true if it reads only. */
static bool check_option(const struct command *command, const char *verb)
{
	const char *name =
		verb ? arena_printf(&arena, "%s %s", command->name, verb) : command->name;
	const char *reads = command_reads(&arena, command, verb ? verb : "", "dry-run");

	if (is_reader(name) != !reads)
		print_error("'zcsi %s' %s --dry-run\n", name,
			    reads ? "reads only, and has" : "lacks");
	assert_int_equal(is_reader(name), !reads);
	return !reads;
}

static void every_command_that_changes_something_has_the_option(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < cli_n_commands; i++) {
		const struct command *command = &cli_commands[i];
		char *verbs = arena_strdup(&arena, command->args);
		verbs[strcspn(verbs, " ")] = '\0';
		if (*verbs < 'a' || *verbs > 'z') {
			n += check_option(command, NULL);
			continue;
		}
		for (char *verb; (verb = strsep(&verbs, "|"));)
			n += check_option(command, verb);
	}
	assert_int_equal(n, COUNT(readers));
}

static void the_readers_of_an_option_are_all_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < cli_n_commands; i++)
		if (strcmp(cli_commands[i].name, "backup") == 0)
			assert_string_equal(
				command_reads(&arena, &cli_commands[i], NULL, "dry-run"),
				"backup add, backup run, backup verify, backup restore, "
				"backup drop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command_that_changes_something_has_the_option),
		cmocka_unit_test(the_readers_of_an_option_are_all_named),
	};

	return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
