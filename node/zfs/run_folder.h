/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_RUN_FOLDER_H
#define ZCSI_NODE_ZFS_RUN_FOLDER_H

/* Where zcsi-node has what is to be gone after a boot: sockets and locks. */

#include "common/error.h"

#define RUN_FOLDER "/run/zcsi" /* root's alone to write in */

/* It is there afterwards. */
int run_folder_make(struct error *err);
/* A file in it by its path, made when it is missing: its descriptor; -1. */
int run_folder_open(const char *file, struct error *err);

#endif
