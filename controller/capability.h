/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_CAPABILITY_H
#define ZCSI_CONTROLLER_CAPABILITY_H

/*
 * VolumeCapability: whether it is complete, and whether a volume of ours can do it. Both fail
 * with ERR_INVALID_ARGUMENT and name the field; ValidateVolumeCapabilities tells them apart.
 */

#include <stddef.h>

#include "common/error.h"
#include "proto/csi.h"

/* Access type and mode present, sizes within CSI's limits. */
int capability_check(const VolumeCapability *capability, struct error *err);
/* A checked capability is one that is served here; the text says what is. */
int capability_support(const VolumeCapability *capability, struct error *err);

/* The same for every one of a list, which must not be empty. */
int capabilities_check(size_t n, VolumeCapability *const *capabilities, struct error *err);
int capabilities_support(size_t n, VolumeCapability *const *capabilities, struct error *err);

#endif
