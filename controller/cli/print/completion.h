/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_PRINT_COMPLETION_H
#define ZCSI_CLI_PRINT_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "common/options.h"

struct completion_command {
	const char *name;
	const char *help; /* a sentence */
	bool takes_volume;
};

/*
 * Print the script by which a shell completes the words after "zcsi": commands, options, files, and
 * the ids of volumes. shell is bash, zsh or fish. Returns -1 for another one.
 */
int completion_print(FILE *out, const struct program *program,
		     const struct completion_command *commands, size_t n_commands,
		     const char *shell, struct error *err);

#endif
