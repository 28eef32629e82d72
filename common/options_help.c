/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The text of --help, from the table of options.
 *
 * Invariant: no line is longer than HELP_COLUMNS, unless a word is.
 */
#include <string.h>

#include "common/options.h"

#define HELP_COLUMNS 79
#define HELP_INDENT  8
#define SPACE        " \t\n\r\f\v"

/* Write a paragraph with indented lines, wrapped at HELP_COLUMNS unless a word is longer. */
static void put_wrapped(FILE *out, int indent, const char *text)
{
	int column = 0;

	for (text += strspn(text, SPACE); *text; text += strspn(text, SPACE)) {
		int length = (int)strcspn(text, SPACE);
		if (column > 0 && column + 1 + length > HELP_COLUMNS) {
			fputc('\n', out);
			column = 0;
		}
		int before = column > 0 ? 1 : indent;
		fprintf(out, "%*s%.*s", before, "", length, text);
		column += before + length;
		text += length;
	}
	fputc('\n', out);
}

static void put_option(FILE *out, char letter, const char *name, const char *metavar,
		       const char *help)
{
	fputs("\n  ", out);
	if (letter)
		fprintf(out, "-%c, ", letter);
	fprintf(out, "--%s%s%s\n", name, metavar ? " " : "", metavar ? metavar : "");
	put_wrapped(out, HELP_INDENT, help);
}

/* Print the sources of the value: how often it may be given, its variable and its default. */
static void put_sources(FILE *out, const struct option_row *row)
{
	char sources[1024];

	snprintf(sources, sizeof(sources), "%s%s%s%s%s%s%s",
		 row->ret_list ? "May be given several times. " : "",
		 row->env ? "Environment: " : "", row->env ? row->env : "",
		 row->env && row->ret_list ? ", values separated by spaces" : "",
		 row->env ? "." : "", row->fallback ? " Default: " : "",
		 row->fallback ? row->fallback : "");
	if (*sources)
		put_wrapped(out, HELP_INDENT, sources);
}

void options_help(const struct program *program, FILE *out)
{
	fprintf(out, "Usage: %s [OPTION]...%s%s\n\n", program->name, program->usage ? " " : "",
		program->usage ? program->usage : "");
	put_wrapped(out, 0, program->summary);
	fputs("\nOptions:\n", out);
	for (size_t i = 0; i < program->n_options; i++) {
		const struct option_row *row = &program->options[i];
		put_option(out, row->letter, row->name, row->metavar, row->help);
		put_sources(out, row);
	}
	put_option(out, 0, "help", NULL, "Print this text and exit.");
	put_option(out, 0, "version", NULL, "Print the version and exit.");
	if (program->trailer)
		fprintf(out, "\n%s\n", program->trailer);
}
