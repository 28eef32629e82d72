/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Options: the command line and the environment, parsed by one table. options_help.c prints the
 * table. The program checks the values.
 *
 * Invariant: after options_parse every ret_ of the table is set, for every return value, and
 * options_fini may be called. An empty environment variable counts as not set.
 */
#include "common/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"

#define SPACE " \t\n\r\f\v"

static const struct {
	const char *word;
	bool value;
} flag_words[] = {
	{"1", true},      {"true", true}, {"yes", true},  {"on", true}, {"0", false},
	{"false", false}, {"no", false},  {"off", false}, {"", false},
};

static int set_flag(const struct option_row *row, const char *word, struct error *err)
{
	for (size_t i = 0; i < COUNT(flag_words); i++) {
		if (strcasecmp(flag_words[i].word, word) == 0) {
			*row->ret_flag = flag_words[i].value;
			return 0;
		}
	}
	if (!row->env)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "'%s' is neither true nor false: give --%s one of them", word,
			    row->name);
	return fail(err, ERR_INVALID_ARGUMENT,
		    "'%s' is neither true nor false: give --%s (or %s) one of them", word,
		    row->name, row->env);
}

static void append(struct option_list *list, const char *value)
{
	list->values = mem_resize(list->values, (list->n + 1) * sizeof(*list->values));
	list->values[list->n++] = value;
}

/*
 * Split text into words. The text is copied behind the array, in one allocation, because the
 * environment must not be modified.
 */
static void set_words(struct option_list *list, const char *text)
{
	size_t max_words = strlen(text) / 2 + 1, array = max_words * sizeof(*list->values);
	char *memory = mem_alloc(array + strlen(text) + 1);
	char *words = strcpy(memory + array, text), *state;

	list->values = (const char **)(void *)memory;
	for (char *word = strtok_r(words, SPACE, &state); word;
	     word = strtok_r(NULL, SPACE, &state))
		list->values[list->n++] = word;
}

static void clear(const struct option_row *row)
{
	if (row->ret_text)
		*row->ret_text = NULL;
	if (row->ret_flag)
		*row->ret_flag = false;
	if (row->ret_list)
		*row->ret_list = (struct option_list){0};
}

static const struct option_row *find_row(const struct program *program, const char *name, size_t n)
{
	for (size_t i = 0; i < program->n_options; i++) {
		const struct option_row *row = &program->options[i];
		if (strlen(row->name) == n && memcmp(row->name, name, n) == 0)
			return row;
	}
	return NULL;
}

static int set_from_flag(const struct option_row *row, const char *value, bool again,
			 struct error *err)
{
	if (again && !row->ret_list)
		return fail(err, ERR_INVALID_ARGUMENT, "--%s is given twice: give it once",
			    row->name);
	if (row->ret_flag)
		return set_flag(row, value ? value : "true", err);
	if (row->ret_list)
		append(row->ret_list, value);
	else
		*row->ret_text = value;
	return 0;
}

/* Set an option from its value, which is NULL for a flag without one. */
static int take_value(const struct program *program, const struct option_row *row,
		      const char *value, bool *given, struct error *err)
{
	bool *again = &given[row - program->options];

	if (set_from_flag(row, value, *again, err) < 0)
		return -1;
	*again = true;
	return 0;
}

/*
 * Parse the option at argv[0], "--name", whose value may be argv[1]. Returns the number of
 * arguments used, 1 or 2; or -1.
 */
static int parse_name(const struct program *program, char **argv, bool *given, struct error *err)
{
	const char *name = argv[0] + 2;
	size_t length = strcspn(name, "=");
	const char *value = name[length] ? name + length + 1 : NULL;
	const struct option_row *row = find_row(program, name, length);
	int taken = 1;

	if (!row)
		return fail(err, ERR_INVALID_ARGUMENT, "unknown option '--%.*s': try %s --help",
			    (int)length, name, program->name);
	if (!value && !row->ret_flag) {
		value = argv[1];
		taken = 2;
	}
	/* A separate value that begins with "--" is the next option; after '=' any is valid. */
	if (!row->ret_flag && (!value || (taken == 2 && strncmp(value, "--", 2) == 0)))
		return fail(err, ERR_INVALID_ARGUMENT, "--%s has no value: write --%s %s",
			    row->name, row->name, row->metavar);
	return take_value(program, row, value, given, err) < 0 ? -1 : taken;
}

static const struct option_row *find_letter(const struct program *program, char letter)
{
	for (size_t i = 0; i < program->n_options; i++)
		if (program->options[i].letter == letter)
			return &program->options[i];
	return NULL;
}

/* Parse the letters at argv[0], "-Hpo", and their value. Returns the arguments used, or -1. */
static int parse_letters(const struct program *program, char **argv, bool *given, struct error *err)
{
	for (const char *at = argv[0] + 1; *at; at++) {
		const struct option_row *row = find_letter(program, *at);
		if (!row)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "unknown option '-%c' in '%s': try %s --help", *at, argv[0],
				    program->name);
		const char *value = row->ret_flag ? NULL : at[1] ? at + 1 : argv[1];
		if (!row->ret_flag && !value)
			return fail(err, ERR_INVALID_ARGUMENT, "-%c has no value: write -%c %s",
				    *at, *at, row->metavar);
		if (take_value(program, row, value, given, err) < 0)
			return -1;
		if (!row->ret_flag)
			return value == argv[1] ? 2 : 1;
	}
	return 1;
}

/* Returns true if a row of the table has a letter, so that "-H" is not an argument. */
static bool has_letters(const struct program *program)
{
	for (size_t i = 0; i < program->n_options; i++)
		if (program->options[i].letter)
			return true;
	return false;
}

/* Returns the number of arguments used, or -1. "--" ends the options, if there are arguments. */
static int parse_one(const struct program *program, char **argv, bool *given, struct error *err)
{
	struct option_list *arguments = program->ret_arguments;
	int n = 0;

	if (arguments && strcmp(argv[0], "--") == 0) {
		for (n = 1; argv[n]; n++)
			append(arguments, argv[n]);
		return n;
	}
	if (strncmp(argv[0], "--", 2) == 0 && argv[0][2])
		return parse_name(program, argv, given, err);
	if (argv[0][0] == '-' && argv[0][1] && has_letters(program))
		return parse_letters(program, argv, given, err);
	if (!arguments)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "argument '%s' is not an option: try %s --help", argv[0],
			    program->name);
	append(arguments, argv[0]);
	return 1;
}

static int set_from_environment(const struct option_row *row, bool *given, struct error *err)
{
	const char *text = row->env ? getenv(row->env) : NULL;

	if (!text || text[strspn(text, SPACE)] == '\0')
		return 0;
	*given = true;
	if (row->ret_flag)
		return set_flag(row, text, err);
	if (row->ret_list)
		set_words(row->ret_list, text);
	else
		*row->ret_text = text;
	return 0;
}

static void set_fallback(const struct option_row *row)
{
	if (!row->fallback)
		return;
	if (row->ret_list)
		append(row->ret_list, row->fallback);
	else if (row->ret_text)
		*row->ret_text = row->fallback;
}

static int parse(const struct program *program, char **argv, bool *given, struct error *err)
{
	while (*argv) {
		if (strcmp(*argv, "--help") == 0) {
			options_help(program, stdout);
			return 1;
		}
		if (strcmp(*argv, "--version") == 0) {
			printf("%s %s\n", program->name, program->version);
			return 1;
		}
		int taken = parse_one(program, argv, given, err);
		if (taken < 0)
			return -1;
		argv += taken;
	}
	for (size_t i = 0; i < program->n_options; i++) {
		const struct option_row *row = &program->options[i];
		if (!given[i] && set_from_environment(row, &given[i], err) < 0)
			return -1;
		if (!given[i])
			set_fallback(row);
	}
	return 0;
}

int options_parse(const struct program *program, int argc, char **argv, struct error *err)
{
	auto_free bool *given = mem_alloc(program->n_options * sizeof(*given));

	for (size_t i = 0; i < program->n_options; i++)
		clear(&program->options[i]);
	if (program->ret_arguments)
		*program->ret_arguments = (struct option_list){0};
	int result = parse(program, argc > 0 ? argv + 1 : argv, given, err);
	if (result != 0)
		options_fini(program);
	return result;
}

static void free_list(struct option_list *list)
{
	if (!list)
		return;
	free(list->values);
	*list = (struct option_list){0};
}

void options_fini(const struct program *program)
{
	for (size_t i = 0; i < program->n_options; i++)
		free_list(program->options[i].ret_list);
	free_list(program->ret_arguments);
}
