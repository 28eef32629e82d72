/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The command line and the environment, one word per line; a line "$A=x" sets the variable A. The
 * parsed options, written as flags, parse to the same values without an environment, and only
 * --help and --version print.
 */
#include <string.h>

#include "common/mem.h"
#include "common/options.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 64

static const char *text, *text_set;
static bool flag;
static struct option_list list, list_set;

static const struct option_row rows[] = {
	{.name = "text", .env = "A", .metavar = "T", .help = "H.", .ret_text = &text},
	{.name = "set",
	 .env = "B",
	 .metavar = "T",
	 .fallback = "f",
	 .help = "H.",
	 .ret_text = &text_set},
	{.name = "flag", .env = "C", .help = "H.", .ret_flag = &flag},
	{.name = "list", .env = "D", .metavar = "L", .help = "H.", .ret_list = &list},
	{.name = "lists",
	 .env = "E",
	 .metavar = "L",
	 .fallback = "g",
	 .help = "H.",
	 .ret_list = &list_set},
};

static const struct program program = {
	.name = "fuzz", .version = "1", .summary = "S.", .options = rows, .n_options = COUNT(rows)};

static struct {
	const char *words[WORDS_MAX + 2]; /* the program name first, NULL last */
	size_t n;
} line;

static const char *environment[COUNT(rows)];

/* Replaces getenv(3), because setenv(3) never frees its values. */
const char *__wrap_getenv(const char *name);
const char *__wrap_getenv(const char *name)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (!strcmp(rows[i].env, name))
			return environment[i];
	return NULL;
}

static void clear_environment(void)
{
	memset(environment, 0, sizeof(environment));
}

/* Set the variable of an assignment "A=x". */
static void set_variable(const char *assignment)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (assignment[0] == rows[i].env[0] && assignment[1] == '=')
			environment[i] = assignment + 2;
}

static void add_word(const char *word)
{
	if (line.n <= WORDS_MAX)
		line.words[line.n++] = word;
	line.words[line.n] = NULL;
}

static void read_words(char *all)
{
	char *word;

	line.n = 0;
	add_word("fuzz");
	clear_environment();
	while ((word = strsep(&all, "\n"))) {
		if (*word == '$')
			set_variable(word + 1);
		else
			add_word(word);
	}
}

static int parse(struct error *err)
{
	*err = (struct error){0};
	return options_parse(&program, (int)line.n, (char **)(uintptr_t)line.words, err);
}

/* Returns the rest of the first word that starts with `beginning`, or NULL. */
static const char *after(const char *beginning)
{
	for (size_t i = 1; i < line.n; i++)
		if (!strncmp(line.words[i], beginning, strlen(beginning)))
			return line.words[i] + strlen(beginning);
	return NULL;
}

/* Write all values as flags of the form --name=value, in which the value may be any text. */
static void write_words(struct arena *arena)
{
	line.n = 0;
	add_word("fuzz");
	if (text)
		add_word(arena_printf(arena, "--text=%s", text));
	add_word(arena_printf(arena, "--set=%s", text_set));
	add_word(flag ? "--flag=yes" : "--flag=no");
	for (size_t i = 0; i < list.n; i++)
		add_word(arena_printf(arena, "--list=%s", list.values[i]));
	for (size_t i = 0; i < list_set.n; i++)
		add_word(arena_printf(arena, "--lists=%s", list_set.values[i]));
}

static void check_list(const struct option_list *values, char *const *before, size_t n)
{
	MUST(values->n == n);
	for (size_t i = 0; i < n; i++)
		MUST(!strcmp(values->values[i], before[i]));
}

static char **copy_list(struct arena *arena, const struct option_list *values)
{
	char **copy = arena_alloc(arena, values->n * sizeof(*copy));

	for (size_t i = 0; i < values->n; i++)
		copy[i] = arena_strdup(arena, values->values[i]);
	return copy;
}

static void check_round_trip(struct arena *arena)
{
	const char *text_before = text ? arena_strdup(arena, text) : NULL;
	const char *set_before = arena_strdup(arena, text_set);
	char **list_before = copy_list(arena, &list);
	char **lists_before = copy_list(arena, &list_set);
	size_t n_list = list.n, n_lists = list_set.n;
	bool flag_before = flag;
	struct error err;

	if (n_list + n_lists > WORDS_MAX - 3)
		return;
	write_words(arena);
	options_fini(&program);
	clear_environment();
	MUST(parse(&err) == 0);
	MUST(flag == flag_before);
	MUST(text_before ? !strcmp(text, text_before) : !text);
	MUST(!strcmp(text_set, set_before));
	check_list(&list, list_before, n_list);
	check_list(&list_set, lists_before, n_lists);
}

void fuzz_one(const uint8_t *bytes, size_t n)
{
	struct arena arena;
	struct error err;

	arena_init(&arena, SIZE_MAX);
	char *all = arena_alloc(&arena, n + 1);
	memcpy(all, bytes, n);
	read_words(all);
	int result = parse(&err);
	if (result < 0)
		fuzz_check_error(&err);
	if (result == 1)
		MUST(after("--help") || after("--version"));
	if (result == 0) {
		MUST(text_set && list_set.n > 0);
		MUST(!after("--text=") || !strcmp(text, after("--text=")));
		check_round_trip(&arena);
	}
	options_fini(&program);
	clear_environment();
	arena_fini(&arena);
}
