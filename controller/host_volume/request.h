/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_HOST_VOLUME_REQUEST_H
#define ZCSI_HOST_VOLUME_REQUEST_H

/*
 * The request of a Nomad client to its host volume plugin, in variables of the environment. None of
 * them is trusted: paths are made of checked words alone.
 */

#include "common/error.h"
#include "common/mem.h"
#include "controller/request/capacity_range.h"
#include "controller/request/parameters.h"

/* The parameter, and so the property nomad:host-volume, by which a volume is known as Nomad's. */
#define ID_PARAMETER "zfs.user.nomad:host-volume"

enum operation { FINGERPRINT, CREATE, DELETE };

struct request {
	const char *id;   /* DHV_VOLUME_ID, a UUID */
	const char *path; /* the directory at which it is mounted, or is to be */
	/* Set for CREATE only. */
	const char *name;   /* NAME-12345678: the volume's, with the beginning of the UUID */
	const char *folder; /* DHV_VOLUMES_DIR */
	struct capacity_range range;
	struct parameters parameters;
};

/* *ret is the operation of this name. Returns 0, or -1 with ERR_INVALID_ARGUMENT. */
int operation_parse(const char *name, enum operation *ret, struct error *err);
/*
 * Parse the variables of CREATE or DELETE. get: getenv(3) or the like. *ret is in the arena, and
 * points to the variables. Returns 0, or -1 with *err, which names the variable or the parameter.
 */
int request_parse(struct arena *arena, enum operation operation, char *get(const char *name),
		  struct request *ret, struct error *err);

#endif
