/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_CAPABILITY_H
#define ZCSI_CONTROLLER_CAPABILITY_H

/*
 * VolumeCapability: checks that it is complete (check), that some volume of zcsi can have it
 * (support, reach), and that a given volume has it (fits). Each function returns 0, or -1 with
 * *err. check, support and reach fail with ERR_INVALID_ARGUMENT. Pure.
 */

#include <stddef.h>

#include "common/error.h"
#include "proto/agent.h"
#include "proto/csi.h"

/* Check that access type and access mode are present, and sizes within CSI's limits. */
int capability_check(const VolumeCapability *capability, struct error *err);
/* Check that zcsi supports the fs_type and the access mode of a checked capability. */
int capability_support(const VolumeCapability *capability, struct error *err);

/* Check that the access mode is possible with this attach mode: MULTI_NODE_* needs ATTACH_NFS. */
int capability_reach(const VolumeCapability *capability, const char *attach, struct error *err);
/*
 * Returns the format that the capability requests (common/volume/format.h); "" is any format that
 * can be mounted.
 */
const char *capability_format(const VolumeCapability *capability);
/*
 * Check that the dataset has the requested format. Otherwise fails with ERR_INVALID_ARGUMENT, or
 * with ERR_FAILED_PRECONDITION if this version does not have the dataset's format.
 */
int capability_fits(const VolumeCapability *capability, const Dataset *dataset, struct error *err);

/*
 * Check each capability of a list with the function that has the singular name. capabilities_check
 * also fails if the list is empty. capabilities_support also fails if two of them request different
 * formats; *ret_format is the requested one, or "".
 */
int capabilities_check(size_t n, VolumeCapability *const *capabilities, struct error *err);
int capabilities_support(size_t n, VolumeCapability *const *capabilities, const char **ret_format,
			 struct error *err);
int capabilities_reach(size_t n, VolumeCapability *const *capabilities, const char *attach,
		       struct error *err);
int capabilities_fit(size_t n, VolumeCapability *const *capabilities, const Dataset *dataset,
		     struct error *err);

#endif
