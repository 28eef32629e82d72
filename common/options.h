/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_OPTIONS_H
#define ZCSI_OPTIONS_H

/*
 * A program's options are one table: it parses the command line and the environment and prints
 * --help and --version. A flag beats its environment variable, which beats the default.
 * `--name value` and `--name=value` are the same. A repeatable option's environment variable
 * holds its values separated by white space.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/error.h"

struct option_list {
	const char **values; /* into argv, the environment or the table; options_fini frees it */
	size_t n;
};

struct option_row {
	const char *name;     /* "endpoint" for --endpoint */
	const char *env;      /* "CSI_ENDPOINT" */
	const char *metavar;  /* "ENDPOINT"; NULL with ret_flag */
	const char *fallback; /* default, NULL when there is none; for a list, one value */
	const char *help;     /* sentences; wrapped by --help, which appends variable and default */
	/* exactly one of the three: where the value goes */
	const char **ret_text;
	bool *ret_flag;
	struct option_list *ret_list;
};

struct program {
	const char *name;    /* "zcsi-node" */
	const char *version; /* "0.1.0" */
	const char *summary; /* the paragraph under the usage line */
	const char
		*trailer; /* what --help says after the options (examples, signals); may be NULL */
	const struct option_row *options;
	size_t n_options;
};

/*
 * 0: every ret_ is filled. 1: --help or --version was printed on stdout, exit 0. -1: *err names
 * the option (unknown, repeated, without value, or a stray argument) and what to type instead.
 */
int options_parse(const struct program *program, int argc, char **argv, struct error *err);
void options_fini(const struct program *program);
void options_help(const struct program *program, FILE *out);

#endif
