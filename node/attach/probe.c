/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Detecting what a block device contains.
 *
 * Invariant: a device is reported as blank only if it could be read. Both of its ends are read
 * first, because libblkid treats some unreadable sectors as empty. A known structure with a wrong
 * checksum is not blank.
 */
#include "node/attach/probe.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"

#define END_BYTES ((size_t)1 << 20) /* signatures are at most so far from the start or the end */

static int read_end(int device, off_t from, struct error *err)
{
	auto_free char *bytes = mem_alloc(END_BYTES);
	size_t done = 0;

	while (done < END_BYTES) {
		ssize_t n = pread(device, bytes + done, END_BYTES - done, from + (off_t)done);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return fail(err, ERR_FAILED_PRECONDITION,
				    "its device cannot be read at byte %lld: %s; run 'zpool status "
				    "-v' and repair what it shows",
				    (long long)from + (long long)done, strerrordesc_np(errno));
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int check_readable(int device, struct error *err)
{
	off_t size = lseek(device, 0, SEEK_END);

	if (size < 0)
		return fail_errno(err, "cannot read the size of its device");
	if (read_end(device, 0, err) < 0)
		return -1;
	return read_end(device, size > (off_t)END_BYTES ? size - (off_t)END_BYTES : 0, err);
}

static void copy_value(blkid_probe probe, const char *name, char *ret, size_t size)
{
	const char *value = NULL;

	if (!*ret && !blkid_probe_lookup_value(probe, name, &value, NULL) && value)
		snprintf(ret, size, "%s", value);
}

static int probe_device(blkid_probe probe, int device, struct probe *ret, struct error *err)
{
	if (blkid_probe_set_device(probe, device, 0, 0) ||
	    blkid_probe_enable_superblocks(probe, 1) ||
	    blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID |
							     BLKID_SUBLKS_BADCSUM) ||
	    blkid_probe_enable_partitions(probe, 1))
		return fail(err, ERR_FAILED_PRECONDITION, "libblkid cannot open its device");
	switch (blkid_do_safeprobe(probe)) {
	case 0:
		copy_value(probe, "TYPE", ret->type, sizeof(ret->type));
		copy_value(probe, "PTTYPE", ret->type, sizeof(ret->type));
		copy_value(probe, "UUID", ret->uuid, sizeof(ret->uuid));
		if (!*ret->type)
			strcpy(ret->type, "unknown");
		return 0;
	case 1:
		return 0;
	case -2:
		return fail(err, ERR_FAILED_PRECONDITION,
			    "its device contains several formats; list them with 'wipefs'");
	default:
		return fail(err, ERR_FAILED_PRECONDITION, "libblkid cannot read its device");
	}
}

int probe_read(int device, struct probe *ret, struct error *err)
{
	*ret = (struct probe){.type = ""};
	if (check_readable(device, err) < 0)
		return -1;
	blkid_probe probe = blkid_new_probe();
	if (!probe)
		return fail(err, ERR_INTERNAL, "libblkid cannot create a probe");
	int failed = probe_device(probe, device, ret, err);
	blkid_free_probe(probe);
	return failed;
}
