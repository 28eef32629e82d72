/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_FAILOVER_ASIDE_H
#define ZCSI_CLI_FAILOVER_ASIDE_H

/* The things that nodes which returned have put aside. All live in the arena of the cli. */

#include "controller/cli/cli.h"
#include "proto/copy.h"

struct aside {
	const struct member *member; /* the node that put the data aside */
	const DivergedVolume *volume;
};

/* Returns what all agents have put aside; if name is not NULL, only what has this id or name. */
struct aside *aside_list(struct cli *cli, const char *name, size_t *ret_n);
/*
 * Returns the dataset that was put aside with this name, on --node if it is given. If there is none
 * and by_volume is true, `name` is a volume's id: returns its only dataset. NULL with *err.
 */
const struct aside *aside_find(struct cli *cli, const char *name, bool by_volume,
			       struct error *err);
/* Returns the full name in ZFS of the dataset that was put aside. */
const char *aside_dataset(struct arena *arena, const struct aside *aside);

#endif
