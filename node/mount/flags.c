/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Mount flags: a table of the flags of any mount, and a list of the flags of NFS.
 *
 * Invariant: a flag that is in neither table is refused by name, before anything is mounted. The
 * kernel checks the values of NFS flags.
 */
#include "node/mount/flags.h"

#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "common/mem.h"

/* The flags of any mount, with the names that volumes request and that mountinfo shows. */
static const struct {
	const char *name;
	uint64_t clear, set;
} flags[] = {
	{"ro", 0, MOUNT_ATTR_RDONLY},
	{"rw", MOUNT_ATTR_RDONLY, 0},
	{"noatime", MOUNT_ATTR__ATIME, MOUNT_ATTR_NOATIME},
	{"relatime", MOUNT_ATTR__ATIME, MOUNT_ATTR_RELATIME},
	{"strictatime", MOUNT_ATTR__ATIME, MOUNT_ATTR_STRICTATIME},
	{"nodiratime", 0, MOUNT_ATTR_NODIRATIME},
	{"diratime", MOUNT_ATTR_NODIRATIME, 0},
	{"nodev", 0, MOUNT_ATTR_NODEV},
	{"dev", MOUNT_ATTR_NODEV, 0},
	{"nosuid", 0, MOUNT_ATTR_NOSUID},
	{"suid", MOUNT_ATTR_NOSUID, 0},
	{"noexec", 0, MOUNT_ATTR_NOEXEC},
	{"exec", MOUNT_ATTR_NOEXEC, 0},
	{"defaults", 0, 0},
};

/* The flags of NFS (nfs(5)). A flag that takes a value ends in '='. */
static const char *const nfs_flags[] = {
	"vers=",        "nfsvers=",   "minorversion=", "proto=",       "port=",      "mountport=",
	"mountproto=",  "mountvers=", "sec=",          "hard",         "soft",       "softerr",
	"timeo=",       "retrans=",   "nconnect=",     "max_connect=", "rsize=",     "wsize=",
	"acregmin=",    "acregmax=",  "acdirmin=",     "acdirmax=",    "actimeo=",   "ac",
	"noac",         "cto",        "nocto",         "lock",         "nolock",     "local_lock=",
	"lookupcache=", "rdirplus",   "nordirplus",    "resvport",     "noresvport", "sharecache",
	"nosharecache", "acl",        "noacl",         "fsc",          "nofsc",      "xprtsec=",
};

bool mount_attr_apply(const char *name, uint64_t *attrs)
{
	for (size_t i = 0; i < COUNT(flags); i++) {
		if (strcmp(flags[i].name, name))
			continue;
		*attrs = (*attrs & ~flags[i].clear) | flags[i].set;
		return true;
	}
	return false;
}

bool mount_flag_is_nfs(const char *flag)
{
	size_t length = strcspn(flag, "=");

	length += flag[length] == '=';
	for (size_t i = 0; i < COUNT(nfs_flags); i++)
		if (strlen(nfs_flags[i]) == length && !strncmp(nfs_flags[i], flag, length))
			return true;
	return false;
}

static int unknown_flag(const char *name, struct error *err)
{
	char known[256] = "";

	for (size_t i = 0; i < COUNT(flags); i++) {
		size_t used = strlen(known);
		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", flags[i].name);
	}
	return fail(
		err, ERR_INVALID_ARGUMENT,
		"mount flag '%.128s' is not known; use some of %s, and for NFS some like vers=4.1",
		name, known);
}

int mount_attrs_parse(char *const *names, size_t n, uint64_t *attrs, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (!mount_attr_apply(names[i], attrs) && !mount_flag_is_nfs(names[i]))
			return unknown_flag(names[i], err);
	return 0;
}
