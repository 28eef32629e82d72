/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_OPTIONS_H
#define ZCSI_OPTIONS_H

/*
 * The options of a program: one table, from which the command line and the environment are parsed
 * and --help and --version are printed. An option on the command line overrides its environment
 * variable, which overrides the default. `--name value` and `--name=value` are equivalent. The
 * environment variable of a repeatable option contains its values, separated by white space.
 * Options with a letter may be joined: `-Hpo json` is `-H -p -o json`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

struct option_list {
	const char **values; /* array freed by options_fini; the texts must not be freed */
	size_t n;
};

struct option_row {
	const char *name;     /* name without dashes: "endpoint" for --endpoint */
	const char *env;      /* environment variable, such as "CSI_ENDPOINT"; NULL: none */
	const char *metavar;  /* name of the value in --help, such as "ENDPOINT"; NULL: a flag */
	const char *fallback; /* default, or NULL; a list has at most one default value */
	const char *help;     /* sentences for --help, which appends variable and default */
	/* Destination of the value: exactly one of the three is set. */
	const char **ret_text;
	bool *ret_flag;
	struct option_list *ret_list;
	char letter; /* short name: 'H' for -H; 0: none */
};

struct program {
	const char *name;    /* name of the program, such as "zcsi-node" */
	const char *version; /* such as "0.1.0" */
	const char *summary; /* paragraph of --help below the usage line */
	const char *trailer; /* text of --help after the options, such as examples; or NULL */
	const struct option_row *options;
	size_t n_options;
	const char *usage;                 /* arguments in --help, such as "COMMAND"; or NULL */
	struct option_list *ret_arguments; /* arguments that are no options; NULL: an error */
};

/*
 * Parse the command line and the environment. Returns 0 when every ret_ is set; 1 when --help or
 * --version was printed to stdout, and the program should exit with status 0; or -1 with
 * ERR_INVALID_ARGUMENT, the option (unknown, repeated, without value, or a stray argument) and the
 * correct usage in *err.
 */
int options_parse(const struct program *program, int argc, char **argv, struct error *err);
/* Free the lists, also that of the arguments. */
void options_fini(const struct program *program);
/* Print the text of --help. */
void options_help(const struct program *program, FILE *out);

#endif
