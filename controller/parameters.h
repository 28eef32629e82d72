/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_PARAMETERS_H
#define ZCSI_CONTROLLER_PARAMETERS_H

/*
 * The parameters of requests, by the table of parameter_table.h: checked, and as properties of
 * the dataset. Pure. What fails is ERR_INVALID_ARGUMENT and names the key. *ret is in the arena.
 */

#include <stdbool.h>

#include "common/error.h"
#include "common/volume/format.h"
#include "common/volume/map.h"
#include "common/mem.h"
#include "proto/agent.h"

struct parameters {
	size_t n_properties; /* for CreateDatasetRequest and ModifyDatasetRequest */
	Property **properties;
	bool encrypted;          /* it needs a key */
	bool thick;              /* the size is reserved too */
	const char *node, *pool; /* where it has to be; NULL: anywhere */
	char *text; /* canonical: a line "key=value\n" for each, sorted, defaults included */
};

/* CreateVolume's: both maps, the mutable ones before the others. */
int parameters_parse(struct arena *arena, struct map map, struct map mutable,
		     struct parameters *ret, struct error *err);
/* ControllerModifyVolume's: what it names and nothing else. */
int parameters_parse_mutable(struct arena *arena, struct map mutable, struct parameters *ret,
			     struct error *err);
/* They are such that a volume of this format has. */
int parameters_check_format(struct arena *arena, const struct parameters *parameters,
			    const struct format *format, struct error *err);
/* Check the parameters of an object that takes none; what names it: "a snapshot". */
int parameters_check_none(struct map map, const char *what, struct error *err);

/*
 * Returns the value of this key in a canonical text, or its default; NULL when that is left to ZFS.
 */
const char *parameters_value(struct arena *arena, const char *text, const char *key);
/*
 * The first difference of two canonical texts, in words ("zfs.sync is 'always', asked for is
 * 'standard'"); NULL when they ask for the same. In the arena.
 */
char *parameters_difference(struct arena *arena, const char *is, const char *asked);

#endif
