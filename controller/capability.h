/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_CAPABILITY_H
#define ZCSI_CONTROLLER_CAPABILITY_H

/*
 * VolumeCapability: whether it is complete, whether a volume of ours can do it, and whether one
 * that exists does. The first two fail with ERR_INVALID_ARGUMENT and name the field;
 * ValidateVolumeCapabilities tells them apart.
 */

#include <stddef.h>

#include "common/error.h"
#include "proto/agent.h"
#include "proto/csi.h"

/* Access type and mode present, sizes within CSI's limits. */
int capability_check(const VolumeCapability *capability, struct error *err);
/* A checked capability is one that is served here; the text says what is. */
int capability_support(const VolumeCapability *capability, struct error *err);

/* A supported one is for as many nodes as a volume that is attached so. */
int capability_reach(const VolumeCapability *capability, const char *attach, struct error *err);
/*
 * Returns the format that a supported capability asks for (common/volume/format.h); "" is any that
 * is mounted.
 */
const char *capability_format(const VolumeCapability *capability);
/* The dataset is of that format; fails with the code that the RPC has for it. */
int capability_fits(const VolumeCapability *capability, const Dataset *dataset,
		    enum error_code code, struct error *err);

/* The same for every one of a list, which must not be empty; they ask for one format. */
int capabilities_check(size_t n, VolumeCapability *const *capabilities, struct error *err);
int capabilities_support(size_t n, VolumeCapability *const *capabilities, const char **ret_format,
			 struct error *err);
int capabilities_reach(size_t n, VolumeCapability *const *capabilities, const char *attach,
		       struct error *err);
int capabilities_fit(size_t n, VolumeCapability *const *capabilities, const Dataset *dataset,
		     enum error_code code, struct error *err);

#endif
