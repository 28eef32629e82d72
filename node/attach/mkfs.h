/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_MKFS_H
#define ZCSI_NODE_ATTACH_MKFS_H

/* The file systems that zvols bear: what makes one, gives it another identity, grows it. */

#include "common/error.h"
#include "common/volume/format.h"

/* On a blank device. Runs a program, which refuses a device that is not blank or in use. */
int mkfs_make(const struct format *format, const char *device, struct error *err);
/*
 * Give a filesystem a new UUID, since it may be a copy of another one. Its journal is replayed
 * first, in a mount of a private namespace. Some of the programs fail with status 0: check the
 * UUID.
 */
int mkfs_renew(const struct format *format, const char *device, struct error *err);
/* To the end of its device, online; nothing when it is there. mount: one that can be written to. */
int mkfs_grow(const struct format *format, int mount, struct error *err);

#endif
