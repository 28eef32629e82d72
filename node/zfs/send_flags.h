/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_SEND_FLAGS_H
#define ZCSI_NODE_ZFS_SEND_FLAGS_H

#include <stdbool.h>

#include "common/error.h"

/*
 * *ret is the options of `zfs send` for this dataset, in one word, or NULL: zfs-fuse has none. The
 * blocks of an encrypted volume are sent raw, others compressed as they are on disk. ERR_NOT_FOUND
 * if the dataset does not exist. Runs one program.
 */
int send_flags(const char *dataset, const char **ret, struct error *err);

/* The same for OpenZFS, if it is known whether the dataset is encrypted. Static text. */
const char *send_flags_for(bool encrypted);

#endif
