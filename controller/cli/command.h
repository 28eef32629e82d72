/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_COMMAND_H
#define ZCSI_CLI_COMMAND_H

/* The table of commands, and which of the options each reads. */

#include "controller/cli/cli.h"

struct command {
	const char *name;
	const char *args; /* the arguments, such as "[VOLUME]"; "": none */
	size_t min_args, max_args;
	const char *help; /* a sentence for --help */
	command_fn *run;
	/*
	 * The options that the command reads besides those that all commands read, such as "lost
	 * to"; NULL: none. An option that only a verb of the command reads has the verb before a
	 * dot: "drop.gone".
	 */
	const char *options;
	bool offline; /* the command asks no agent */
};

extern const struct command cli_commands[];
extern const size_t cli_n_commands;

/*
 * Returns the words of the command line before an option, such as "forget" or "copy drop", in the
 * arena; NULL if the command does not read the option. verb: the first argument; NULL: all verbs
 * that read the option, with ", " between them.
 */
const char *command_reads(struct arena *arena, const struct command *command, const char *verb,
			  const char *option);

#endif
