/* SPDX-License-Identifier: MPL-2.0 */
/*
 * What a volume can be asked to be. Volumes are filesystem datasets mounted on one node, so the
 * access modes are one table and the rest is a few refusals.
 *
 * Invariant: every refusal says what would be accepted instead.
 */
#include "controller/capability.h"

#include <stdbool.h>
#include <string.h>

#include "controller/text.h"

#define MOUNT_FLAGS_MAX 4096 /* bytes of all of them (spec.md, Size Limits) */

static const struct {
	VolumeCapability_AccessMode_Mode mode;
	const char *name;
	bool supported;
} modes[] = {
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER, "SINGLE_NODE_WRITER", true},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_READER_ONLY, "SINGLE_NODE_READER_ONLY",
	 true},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_MULTI_NODE_READER_ONLY, "MULTI_NODE_READER_ONLY",
	 false},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_MULTI_NODE_SINGLE_WRITER, "MULTI_NODE_SINGLE_WRITER",
	 false},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_MULTI_NODE_MULTI_WRITER, "MULTI_NODE_MULTI_WRITER",
	 false},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_SINGLE_WRITER, "SINGLE_NODE_SINGLE_WRITER",
	 true},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_MULTI_WRITER, "SINGLE_NODE_MULTI_WRITER",
	 true},
};

static int check_mount(const VolumeCapability_MountVolume *mount, struct error *err)
{
	size_t size = 0;

	for (size_t i = 0; i < mount->n_mount_flags; i++)
		size += strlen(mount->mount_flags[i]);
	if (size > MOUNT_FLAGS_MAX)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability.mount.mount_flags has %zu bytes; at most %d are "
			    "accepted",
			    size, MOUNT_FLAGS_MAX);
	if (text_check_size("volume_capability.mount.fs_type", mount->fs_type, err) < 0)
		return -1;
	return text_check_size("volume_capability.mount.volume_mount_group",
			       mount->volume_mount_group, err);
}

int capability_check(const VolumeCapability *capability, struct error *err)
{
	if (capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_NOT_SET)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability.access_type is missing: give 'mount'");
	if (!capability->access_mode ||
	    capability->access_mode->mode == VOLUME_CAPABILITY_ACCESS_MODE_MODE_UNKNOWN)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability.access_mode is missing: give one of SINGLE_NODE_*");
	if (capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT)
		return check_mount(capability->mount, err);
	return 0;
}

static int support_mode(VolumeCapability_AccessMode_Mode mode, struct error *err)
{
	for (size_t i = 0; i < COUNT(modes); i++) {
		if (modes[i].mode != mode)
			continue;
		if (modes[i].supported)
			return 0;
		return fail(
			err, ERR_INVALID_ARGUMENT,
			"access mode %s is not supported: a volume is used on one node; give one "
			"of SINGLE_NODE_*",
			modes[i].name);
	}
	return fail(err, ERR_INVALID_ARGUMENT, "access mode %d is unknown", (int)mode);
}

int capability_support(const VolumeCapability *capability, struct error *err)
{
	if (capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_BLOCK)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "access type 'block' is not supported: volumes are filesystems; give "
			    "'mount'");
	const char *fs_type = capability->mount->fs_type;
	if (*fs_type && strcmp(fs_type, "zfs") != 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "fs_type '%s' is not supported: leave it empty or give 'zfs'", fs_type);
	return support_mode(capability->access_mode->mode, err);
}

int capabilities_check(size_t n, VolumeCapability *const *capabilities, struct error *err)
{
	if (n == 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capabilities is missing: at least one is needed");
	for (size_t i = 0; i < n; i++) {
		if (capability_check(capabilities[i], err) < 0)
			return -1;
	}
	return 0;
}

int capabilities_support(size_t n, VolumeCapability *const *capabilities, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (capability_support(capabilities[i], err) < 0)
			return -1;
	}
	return 0;
}
