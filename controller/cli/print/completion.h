/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_PRINT_COMPLETION_H
#define ZCSI_CLI_PRINT_COMPLETION_H

#include <stdio.h>

#include "common/error.h"
#include "common/options.h"

enum completion_word { COMPLETION_NONE, COMPLETION_VOLUME, COMPLETION_NODE };

struct completion_command {
	const char *name;
	const char *help; /* a sentence about the command */
	enum completion_word takes;
};

/*
 * Print the script by which a shell completes the words after "zcsi": commands, options, files, the
 * ids of volumes, and nodes. Returns -1 with *err if `shell` is not bash, zsh or fish.
 */
int completion_print(FILE *out, const struct program *program,
		     const struct completion_command *commands, size_t n_commands,
		     const char *shell, struct error *err);

#endif
