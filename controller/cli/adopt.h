/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_ADOPT_H
#define ZCSI_CLI_ADOPT_H

/* Making a new volume of a dataset that an agent has received. */

#include <stdint.h>

#include "controller/cli/cli.h"

/* The volume that is to be made. */
struct making {
	struct cli *cli;
	const char *id;
	const struct member *place;
	const char *format;
	int64_t size;  /* bytes; 0 for a zvol, which has a size of its own */
	uint64_t guid; /* that the received dataset must have; 0: any */
};

/*
 * Take the volume from the command line, and check that its name is free. Returns 0, or -1 with
 * *err.
 */
int making_begin(struct cli *cli, struct making *ret, struct error *err);
/* Claim the name and make the volume. Returns 0, or -1 with *err. */
int making_adopt(const struct making *making, struct error *err);

/* Parse "10G" or a number of bytes. Returns 0, or -1 with *err. For tests. */
int making_size(const char *text, int64_t *ret, struct error *err);

#endif
