/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_COMPLETION_H
#define ZCSI_CLI_COMPLETION_H

#include <stdio.h>

#include "common/error.h"
#include "common/options.h"

/*
 * Print the script by which a shell completes the words after "zcsi": commands, options, files, and
 * the ids of volumes. shell is bash, zsh or fish. Returns -1 for another one.
 */
int completion_print(FILE *out, const struct program *program, const char *shell,
		     struct error *err);

#endif
