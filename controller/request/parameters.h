/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_PARAMETERS_H
#define ZCSI_CONTROLLER_PARAMETERS_H

/*
 * Parsing the parameters of requests with the table of parameter_table.h, and converting them to
 * properties of the dataset. Results are in the arena. Functions that return int return 0, or -1
 * with ERR_INVALID_ARGUMENT, which names the key. Pure.
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
	bool encrypted;          /* the volume needs a key */
	bool thick;              /* provisioning=thick: the size is reserved */
	const char *node, *pool; /* the required node and pool; NULL: any */
	const char *members;     /* the nodes that may have the data, with ',' between; NULL: any */
	unsigned replicas;       /* how many nodes are to have the data, at least 1 */
	unsigned sync_every;     /* for how many seconds the copies may be behind; 0: not given */
	int64_t bandwidth;       /* bytes a second of each push; 0: not given, -1: no limit */
	const char *snapshots;   /* snapshots that copies get: "ours" or "all"; NULL: not given */
	unsigned pin_limit;      /* seconds that a snapshot is kept for a late copy; 0: not given */
	int64_t repair_after;    /* seconds until a lost node is replaced; 0: not given, -1: no */
	const char *follow;      /* the value of the parameter follow; NULL: not given */
	const char *backup;      /* the node that keeps a backup; NULL: not given */
	unsigned backup_every;   /* seconds between two backups */
	const char *backup_keep; /* a schedule, as "daily=30"; "": all snapshots */
	char *text;              /* canonical: sorted lines "key=value\n", including defaults */
};

/* Parse the parameters of CreateVolume; a mutable parameter overrides the other map's. */
int parameters_parse(struct arena *arena, struct map map, struct map mutable,
		     struct parameters *ret, struct error *err);
/*
 * Parse the mutable_parameters of ControllerModifyVolume, without adding defaults: replicas is 0 if
 * it is not given.
 */
int parameters_parse_mutable(struct arena *arena, struct map mutable, struct parameters *ret,
			     struct error *err);
/*
 * Fill in the request for a new volume, whose size is set already, but not the nodes of its copies.
 * Settings of copies are filled in even if it has none, since a copy may be added later.
 */
void parameters_create(struct arena *arena, const struct parameters *parameters,
		       CreateDatasetRequest *request);
/* Put into the request what the parameters change of a volume, except for replicas. */
void parameters_modify(const struct parameters *parameters, ModifyDatasetRequest *request);
/* Returns true if the request changes copies, or how they are kept. */
bool parameters_about_copies(const ModifyDatasetRequest *request);
/*
 * Check that a volume of this format can have all of the parameters. If format is NULL, a later
 * version has added it, and no parameter is refused.
 */
int parameters_check_format(struct arena *arena, const struct parameters *parameters,
			    const struct format *format, struct error *err);
/* Parse the canonical text of a volume for a new volume, which does not get the key `except`. */
int parameters_parse_text(struct arena *arena, const char *text, const char *except,
			  struct parameters *ret, struct error *err);
/* Check that the map has no parameters, for an object that takes none; what: "a snapshot". */
int parameters_check_none(struct map map, const char *what, struct error *err);

/*
 * Returns the value of this key in a canonical text, or its default; NULL for the default of ZFS.
 */
const char *parameters_value(struct arena *arena, const char *text, const char *key);
/*
 * Returns the first difference of two canonical texts in words ("zfs.sync is 'always', the request
 * asks for 'standard'"), in the arena; NULL if they are equal.
 */
char *parameters_difference(struct arena *arena, const char *is, const char *asked);

#endif
