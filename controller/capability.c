/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Checking volume capabilities, and comparing them with a volume. A volume keeps its format
 * (common/volume/format.h). Only a volume with attach=nfs can be used on several nodes at once.
 *
 * Invariant: the error text of every refusal names an accepted alternative.
 */
#include "controller/capability.h"

#include <stdbool.h>
#include <string.h>

#include "common/volume/format.h"
#include "controller/request/field.h"
#include "controller/volume.h"

#define MOUNT_FLAGS_MAX 4096 /* bytes of all mount flags together (CSI's spec.md, Size Limits) */

static const struct {
	VolumeCapability_AccessMode_Mode mode;
	const char *name;
	bool many_nodes;
} modes[] = {
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_WRITER, "SINGLE_NODE_WRITER", false},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_READER_ONLY, "SINGLE_NODE_READER_ONLY",
	 false},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_MULTI_NODE_READER_ONLY, "MULTI_NODE_READER_ONLY", true},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_MULTI_NODE_SINGLE_WRITER, "MULTI_NODE_SINGLE_WRITER",
	 true},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_MULTI_NODE_MULTI_WRITER, "MULTI_NODE_MULTI_WRITER",
	 true},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_SINGLE_WRITER, "SINGLE_NODE_SINGLE_WRITER",
	 false},
	{VOLUME_CAPABILITY_ACCESS_MODE_MODE_SINGLE_NODE_MULTI_WRITER, "SINGLE_NODE_MULTI_WRITER",
	 false},
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
	if (field_check_size("volume_capability.mount.fs_type", mount->fs_type, err) < 0)
		return -1;
	return field_check_size("volume_capability.mount.volume_mount_group",
				mount->volume_mount_group, err);
}

int capability_check(const VolumeCapability *capability, struct error *err)
{
	if (capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_NOT_SET)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capability.access_type is missing: give 'mount' or "
			    "'block'");
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
	for (size_t i = 0; i < COUNT(modes); i++)
		if (modes[i].mode == mode)
			return 0;
	return fail(err, ERR_INVALID_ARGUMENT, "access mode %d is unknown", (int)mode);
}

const char *capability_format(const VolumeCapability *capability)
{
	return capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_BLOCK
		       ? FORMAT_BLOCK
		       : capability->mount->fs_type;
}

static int support_fs_type(const char *fs_type, struct error *err)
{
	const struct format *format = format_find(fs_type);

	if (!*fs_type || (format && format->mounts && format->made))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT,
		    "fs_type '%s' is not supported: leave it empty, or give 'zfs', 'ext4' or 'xfs'",
		    fs_type);
}

int capability_support(const VolumeCapability *capability, struct error *err)
{
	if (capability->access_type_case == VOLUME_CAPABILITY_ACCESS_TYPE_MOUNT &&
	    support_fs_type(capability->mount->fs_type, err) < 0)
		return -1;
	return support_mode(capability->access_mode->mode, err);
}

int capability_reach(const VolumeCapability *capability, const char *attach, struct error *err)
{
	for (size_t i = 0; i < COUNT(modes); i++)
		if (modes[i].mode == capability->access_mode->mode && modes[i].many_nodes &&
		    strcmp(attach, ATTACH_NFS) != 0)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "access mode %s is not supported by a volume with %s=%s, which "
				    "only its own node can use: give one of SINGLE_NODE_*, or make "
				    "the volume with the parameter %s=%s",
				    modes[i].name, ATTACH_KEY, attach, ATTACH_KEY, ATTACH_NFS);
	return 0;
}

int capability_fits(const VolumeCapability *capability, const Dataset *dataset, struct error *err)
{
	const char *asked = capability_format(capability);
	const struct format *is = format_find(dataset->format);

	if (!is)
		return fail(err, ERR_FAILED_PRECONDITION,
			    "volume '%s' has the format '%s', which this controller does not "
			    "support: update the controller to the version of zcsi-node",
			    dataset->id, dataset->format);
	if (format_fits(asked, is))
		return 0;
	return fail(err, ERR_INVALID_ARGUMENT, "volume '%s' is %s and cannot be used as '%s': %s",
		    dataset->id, is->description, *asked ? asked : "a mount", is->advice);
}

int capabilities_check(size_t n, VolumeCapability *const *capabilities, struct error *err)
{
	if (n == 0)
		return fail(err, ERR_INVALID_ARGUMENT,
			    "volume_capabilities is missing: at least one is needed");
	for (size_t i = 0; i < n; i++)
		if (capability_check(capabilities[i], err) < 0)
			return -1;
	return 0;
}

static int agree(size_t n, VolumeCapability *const *capabilities, const char *format,
		 struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		const char *asked = capability_format(capabilities[i]);
		if (!format_fits(asked, format_find(format)))
			return fail(err, ERR_INVALID_ARGUMENT,
				    "volume_capabilities ask for '%s' and for '%s': a volume is "
				    "one of them; make two",
				    format, *asked ? asked : "mount");
	}
	return 0;
}

int capabilities_support(size_t n, VolumeCapability *const *capabilities, const char **ret_format,
			 struct error *err)
{
	*ret_format = "";
	for (size_t i = 0; i < n; i++) {
		if (capability_support(capabilities[i], err) < 0)
			return -1;
		const char *format = capability_format(capabilities[i]);
		*ret_format = *format ? format : *ret_format;
	}
	return **ret_format ? agree(n, capabilities, *ret_format, err) : 0;
}

int capabilities_fit(size_t n, VolumeCapability *const *capabilities, const Dataset *dataset,
		     struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (capability_fits(capabilities[i], dataset, err) < 0)
			return -1;
	return 0;
}

int capabilities_reach(size_t n, VolumeCapability *const *capabilities, const char *attach,
		       struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (capability_reach(capabilities[i], attach, err) < 0)
			return -1;
	return 0;
}
