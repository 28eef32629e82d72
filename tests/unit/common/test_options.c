/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Tests of the options: a flag overrides the environment, which overrides the default; letters and
 * arguments; every mistake on the command line has its message; the layout of --help.
 */
#include "tests/cmocka.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/options.h"
#include "common/mem.h"

static const char *node_id, *level;
static bool insecure;
static struct option_list endpoints, topology;

static const struct option_row rows[] = {
	{"endpoint", "T_ENDPOINT", "ENDPOINT", "unix:///run/a.sock",
	 "Where to listen. A long sentence follows so that the help of this option has to be "
	 "wrapped more than once, at the last column that is allowed and never behind it.",
	 .ret_list = &endpoints},
	{"topology", "T_TOPOLOGY", "KEY=VALUE", NULL, "A segment.", .ret_list = &topology},
	{"node-id", "T_NODE_ID", "ID", NULL, "The node's name.", .ret_text = &node_id},
	{"log-level", "T_LOG_LEVEL", "LEVEL", "info", "How much to log.", .ret_text = &level},
	{"insecure", "T_INSECURE", NULL, NULL, "Plaintext anywhere.", .ret_flag = &insecure},
};

static const struct program program = {
	.name = "zcsi-test",
	.version = "0.1.0",
	.summary = "Does what a test wants of a program, and says so in a summary that is longer "
		   "than one line.",
	.trailer = "SIGTERM ends it.",
	.options = rows,
	.n_options = COUNT(rows),
};

static struct error err;

static int parse_list(const char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return options_parse(&program, argc, (char **)argv, &err);
}

#define parse(...) parse_list((const char *[]){"zcsi-test", ##__VA_ARGS__, NULL})

#define assert_refused(expected, ...)                                                              \
	do {                                                                                       \
		assert_int_equal(parse(__VA_ARGS__), -1);                                          \
		assert_int_equal(err.code, ERR_INVALID_ARGUMENT);                                  \
		assert_string_equal(err.text, expected);                                           \
		assert_null(endpoints.values);                                                     \
	} while (0)

static int clean(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		unsetenv(rows[i].env);
	options_fini(&program);
	return 0;
}

static void options_have_defaults(void **state)
{
	(void)state;

	assert_int_equal(parse(), 0);
	assert_int_equal(endpoints.n, 1);
	assert_string_equal(endpoints.values[0], "unix:///run/a.sock");
	assert_int_equal(topology.n, 0);
	assert_null(node_id);
	assert_string_equal(level, "info");
	assert_false(insecure);
}

static void values_follow_a_space_or_an_equals_sign(void **state)
{
	(void)state;

	assert_int_equal(parse("--endpoint", "a", "--node-id=n=1", "--endpoint=b", "--insecure",
			       "--log-level="),
			 0);
	assert_int_equal(endpoints.n, 2);
	assert_string_equal(endpoints.values[0], "a");
	assert_string_equal(endpoints.values[1], "b");
	assert_string_equal(node_id, "n=1");
	assert_string_equal(level, "");
	assert_true(insecure);
}

static void environment_beats_default_and_flag_beats_both(void **state)
{
	(void)state;

	setenv("T_ENDPOINT", " \ta  bb\n", 1);
	setenv("T_TOPOLOGY", "x=1 y=2 z=3", 1);
	setenv("T_NODE_ID", "from env", 1);
	setenv("T_LOG_LEVEL", "warn", 1);
	setenv("T_INSECURE", "yes", 1);
	assert_int_equal(parse("--log-level", "debug", "--topology", "k=v"), 0);
	assert_int_equal(endpoints.n, 2);
	assert_string_equal(endpoints.values[0], "a");
	assert_string_equal(endpoints.values[1], "bb");
	assert_int_equal(topology.n, 1);
	assert_string_equal(topology.values[0], "k=v");
	assert_string_equal(node_id, "from env");
	assert_string_equal(level, "debug");
	assert_true(insecure);
	assert_string_equal(getenv("T_ENDPOINT"), " \ta  bb\n");
	options_fini(&program);
	assert_int_equal(parse("--insecure=off"), 0);
	assert_false(insecure);
}

static void empty_environment_is_not_set(void **state)
{
	(void)state;

	setenv("T_ENDPOINT", "  ", 1);
	setenv("T_LOG_LEVEL", "", 1);
	setenv("T_INSECURE", "", 1);
	assert_int_equal(parse(), 0);
	assert_int_equal(endpoints.n, 1);
	assert_string_equal(endpoints.values[0], "unix:///run/a.sock");
	assert_string_equal(level, "info");
	assert_false(insecure);
}

static void booleans_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *word;
		int result;
		bool value;
	} cases[] = {
		{"1", 0, true},    {"true", 0, true}, {"yes", 0, true},     {"on", 0, true},
		{"TRUE", 0, true}, {"0", 0, false},   {"false", 0, false},  {"no", 0, false},
		{"off", 0, false}, {"2", -1, false},  {"maybe", -1, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		setenv("T_INSECURE", cases[i].word, 1);
		assert_int_equal(parse(), cases[i].result);
		assert_int_equal(insecure, cases[i].value);
		options_fini(&program);
	}
	assert_string_equal(err.text, "'maybe' is neither true nor false: give --insecure (or "
				      "T_INSECURE) one of them");
}

static void a_flag_without_a_variable_names_none(void **state)
{
	static bool bare;
	static const struct option_row row = {.name = "bare", .ret_flag = &bare};
	static const struct program one = {.name = "zcsi-test", .options = &row, .n_options = 1};
	const char *argv[] = {"zcsi-test", "--bare=maybe", NULL};

	(void)state;
	assert_int_equal(options_parse(&one, 2, (char **)argv, &err), -1);
	assert_string_equal(err.text, "'maybe' is neither true nor false: give --bare one of them");
	options_fini(&one);
}

static void mistakes_name_the_option(void **state)
{
	(void)state;

	assert_refused("unknown option '--nod': try zcsi-test --help", "--endpoint=a", "--nod=x");
	assert_refused("unknown option '--node-idx': try zcsi-test --help", "--node-idx", "x");
	assert_refused("--node-id is given twice: give it once", "--node-id", "a", "--node-id=a");
	assert_refused("--insecure is given twice: give it once", "--insecure", "--insecure");
	assert_refused("--node-id has no value: write --node-id ID", "--endpoint=a", "--node-id");
	assert_refused("--endpoint has no value: write --endpoint ENDPOINT", "--endpoint",
		       "--insecure");
	assert_refused("argument 'start' is not an option: try zcsi-test --help", "start");
	assert_refused("argument '-v' is not an option: try zcsi-test --help", "-v");
	assert_refused("argument '--' is not an option: try zcsi-test --help", "--");
	assert_refused("argument '' is not an option: try zcsi-test --help", "");
	assert_refused("unknown option '--': try zcsi-test --help", "--=x");
}

static struct option_list arguments;
static bool bare, exact;
static const char *output;

static const struct option_row lettered_rows[] = {
	{"bare", NULL, NULL, NULL, "No heading.", .ret_flag = &bare, .letter = 'H'},
	{"exact", NULL, NULL, NULL, "Numbers.", .ret_flag = &exact, .letter = 'p'},
	{"output", NULL, "FORMAT", "table", "A format.", .ret_text = &output, .letter = 'o'},
};

static const struct program lettered = {
	.name = "zcsi-test",
	.version = "0.1.0",
	.summary = "Has arguments.",
	.options = lettered_rows,
	.n_options = COUNT(lettered_rows),
	.usage = "COMMAND [ARGUMENT]...",
	.ret_arguments = &arguments,
};

static int parse_lettered(const char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return options_parse(&lettered, argc, (char **)argv, &err);
}

#define letters(...) parse_lettered((const char *[]){"zcsi-test", ##__VA_ARGS__, NULL})

static int clean_lettered(void **state)
{
	(void)state;
	options_fini(&lettered);
	return 0;
}

static void letters_may_be_joined(void **state)
{
	(void)state;

	assert_int_equal(letters("-Hpo", "json", "list"), 0);
	assert_true(bare && exact);
	assert_string_equal(output, "json");
	assert_int_equal(arguments.n, 1);
	options_fini(&lettered);
	assert_int_equal(letters("-ojson", "--exact"), 0);
	assert_true(exact && !bare);
	assert_string_equal(output, "json");
	assert_int_equal(arguments.n, 0);
}

static void arguments_and_options_may_mix(void **state)
{
	(void)state;

	assert_int_equal(letters("show", "-p", "a", "--", "-H", "--exact", "--"), 0);
	assert_true(exact && !bare);
	assert_string_equal(output, "table");
	assert_int_equal(arguments.n, 5);
	assert_string_equal(arguments.values[1], "a");
	assert_string_equal(arguments.values[2], "-H");
	assert_string_equal(arguments.values[4], "--");
	options_fini(&lettered);
	assert_int_equal(letters("receive", "-"), 0);
	assert_string_equal(arguments.values[1], "-");
}

static void mistakes_name_the_letter(void **state)
{
	static const struct {
		const char *first, *second, *text;
	} cases[] = {
		{"-x", NULL, "unknown option '-x' in '-x': try zcsi-test --help"},
		{"-Hx", NULL, "unknown option '-x' in '-Hx': try zcsi-test --help"},
		{"-HH", NULL, "--bare is given twice: give it once"},
		{"-H", "--bare", "--bare is given twice: give it once"},
		{"-po", NULL, "-o has no value: write -o FORMAT"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(letters(cases[i].first, cases[i].second), -1);
		assert_string_equal(err.text, cases[i].text);
		assert_null(arguments.values);
	}
}

static char printed[8192];

/* Parse a command line with the flag, and store what is printed on stdout in `printed`. Returns the
 * result of options_parse(). */
static int parse_printing(const char *flag)
{
	auto_close int saved = dup(STDOUT_FILENO);
	auto_close int file = memfd_create("stdout", MFD_CLOEXEC);

	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	int result = parse("--endpoint=a", flag, "--bad");
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	ssize_t n = pread(file, printed, sizeof(printed) - 1, 0);
	printed[n < 0 ? 0 : n] = '\0';
	return result;
}

static void version_is_one_line(void **state)
{
	(void)state;

	assert_int_equal(parse_printing("--version"), 1);
	assert_string_equal(printed, "zcsi-test 0.1.0\n");
	assert_null(endpoints.values);
}

static void help_lists_the_options(void **state)
{
	(void)state;
	static const char expected[] =
		"Usage: zcsi-test [OPTION]...\n"
		"\n"
		"Does what a test wants of a program, and says so in a summary that is longer\n"
		"than one line.\n"
		"\n"
		"Options:\n"
		"\n"
		"  --endpoint ENDPOINT\n"
		"        Where to listen. A long sentence follows so that the help of this\n"
		"        option has to be wrapped more than once, at the last column that is\n"
		"        allowed and never behind it.\n"
		"        May be given several times. Environment: T_ENDPOINT, values separated\n"
		"        by spaces. Default: unix:///run/a.sock\n";

	assert_int_equal(parse_printing("--help"), 1);
	assert_memory_equal(printed, expected, strlen(expected));
	assert_non_null(strstr(printed, "\n  --log-level LEVEL\n        How much to log.\n"
					"        Environment: T_LOG_LEVEL. Default: info\n"));
	assert_non_null(strstr(printed, "\n  --insecure\n        Plaintext anywhere.\n"
					"        Environment: T_INSECURE.\n"));
	assert_non_null(strstr(printed, "\n  --help\n"));
	assert_non_null(strstr(printed, "\n  --version\n"));
	assert_string_equal(printed + strlen(printed) - 18, "\nSIGTERM ends it.\n");
	for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 79 && line[strlen(line) - 1] != ' ');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(options_have_defaults, clean),
		cmocka_unit_test_teardown(values_follow_a_space_or_an_equals_sign, clean),
		cmocka_unit_test_teardown(environment_beats_default_and_flag_beats_both, clean),
		cmocka_unit_test_teardown(empty_environment_is_not_set, clean),
		cmocka_unit_test_teardown(booleans_are_read, clean),
		cmocka_unit_test_teardown(a_flag_without_a_variable_names_none, clean),
		cmocka_unit_test_teardown(mistakes_name_the_option, clean),
		cmocka_unit_test_teardown(letters_may_be_joined, clean_lettered),
		cmocka_unit_test_teardown(arguments_and_options_may_mix, clean_lettered),
		cmocka_unit_test_teardown(mistakes_name_the_letter, clean_lettered),
		cmocka_unit_test_teardown(version_is_one_line, clean),
		cmocka_unit_test_teardown(help_lists_the_options, clean),
	};

	return cmocka_run_group_tests(tests, clean, NULL);
}
