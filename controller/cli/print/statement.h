/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_PRINT_STATEMENT_H
#define ZCSI_CLI_PRINT_STATEMENT_H

#include <stddef.h>

#include "common/error.h"

/* Things that a command destroys for good, if the operator states their number with --destroy. */
struct destruction {
	const char *command; /* "zcsi trash empty", which --destroy follows */
	const char *fact;    /* "there are 2 deleted volumes": the number's origin */
	const char *what;    /* "all its snapshots": the things */
	size_t n;
};

/*
 * Compare the number of things with the value of --destroy. Returns 1 if they are equal; 0 if the
 * value is NULL, since --destroy was not given; -1 with *err if it is anything else.
 */
int statement_check(const struct destruction *destruction, const char *value, struct error *err);
/* Print on stderr that nothing was done, and what to type. */
void statement_ask(const struct destruction *destruction);

#endif
