/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_SEND_FLAGS_H
#define ZCSI_NODE_COPY_SEND_FLAGS_H

#include "common/error.h"

/*
 * *ret is the options of `zfs send` for this dataset, in one word, or NULL: zfs-fuse has none. The
 * blocks of an encrypted volume are sent raw, others compressed as they are on disk. ERR_NOT_FOUND
 * if the dataset does not exist. Runs one program.
 */
int send_flags(const char *dataset, const char **ret, struct error *err);

#endif
