/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_FAILOVER_ASIDE_H
#define ZCSI_CLI_FAILOVER_ASIDE_H

/* The things that nodes which returned have put aside. All live in the arena of the cli. */

#include "controller/cli/cli.h"
#include "proto/copy.h"

struct aside {
	const struct member *member; /* the node */
	const DivergedVolume *volume;
};

/* Returns what all agents have put aside; unless name is NULL, what has it as its id or name. */
struct aside *aside_list(struct cli *cli, const char *name, size_t *ret_n);
/*
 * Returns what has this name, on the node of --node if that is given; or, if `by_volume`, all that
 * there is of this volume, if that is one. NULL with *err.
 */
const struct aside *aside_find(struct cli *cli, const char *name, bool by_volume,
			       struct error *err);
/* Returns the name of its dataset. */
const char *aside_dataset(struct arena *arena, const struct aside *aside);

#endif
