/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_ADOPT_H
#define ZCSI_CLI_ADOPT_H

/* Making a new volume of a dataset that a node has: one that was received, or another one. */

#include <stdint.h>

#include "controller/cli/cli.h"

/* The volume that is to be made. */
struct making {
	struct cli *cli;
	const char *id;
	const struct member *place;
	const char *dataset; /* the dataset's ZFS name; NULL: the one received for this id */
	const char *format;  /* "": that of the dataset */
	int64_t size;        /* bytes; 0: that of the dataset */
	uint64_t guid;       /* guid that the dataset must have; 0: any */
	/* The parameters and other properties that the volume gets; NULL and 0: none. */
	const char *parameters;
	Property **properties;
	size_t n_properties;
};

/*
 * Fill in *ret from the command line for the volume with this id, and check that its name is free.
 * Returns 0, or -1 with *err.
 */
int making_begin(struct cli *cli, const char *id, struct making *ret, struct error *err);
/* Returns the command that makes a volume of what the node received for this id, in the arena. */
const char *making_command(struct arena *arena, const struct member *place, const char *id);
/* Check that the name is free: all agents answer, and none has it. Returns 0, or -1 with *err. */
int making_check(const struct making *making, struct error *err);
/* Claim the name and make the volume. Returns 0, or -1 with *err. */
int making_adopt(const struct making *making, struct error *err);

/* Makes the volume for a claim. Returns 0, or -1 with *err: ERR_ABORTED if the claim is lost. */
typedef int making_fn(const struct making *making, uint64_t claim, struct error *err);
/*
 * Check that all agents answer and none has a volume of the name, claim the name, and call the
 * function; if the claim is lost, begin again. Uses the members cli, id and place. Returns 0, or -1
 * with *err.
 */
int making_claim(const struct making *making, making_fn *fn, struct error *err);

/*
 * Parse "10G" or a number of bytes; what: the name of the value, for the error text. Returns 0, or
 * -1 with *err.
 */
int making_size(const char *what, const char *text, int64_t *ret, struct error *err);

#endif
