/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_COMMAND_H
#define ZCSI_CLI_COMMAND_H

/* The table of commands, and which of the options each reads. */

#include "controller/cli/cli.h"

struct command {
	const char *name;
	const char *args; /* "VOLUME", "[VOLUME]"; "" */
	size_t min_args, max_args;
	const char *help; /* a sentence */
	command_fn *run;
	/* Which options it reads of those that not all commands do: "lost to"; NULL: none. Those of
	 * one of its verbs alone have the verb before a dot: "drop.gone". */
	const char *options;
	bool offline; /* asks no agent */
};

extern const struct command cli_commands[];
extern const size_t cli_n_commands;

/*
 * Returns the words before an option that a command reads, "forget" or "copy drop", in the arena;
 * NULL if it does not read the option. verb: the first argument, or NULL: any.
 */
const char *command_reads(struct arena *arena, const struct command *command, const char *verb,
			  const char *option);

#endif
