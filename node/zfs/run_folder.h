/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_RUN_FOLDER_H
#define ZCSI_NODE_ZFS_RUN_FOLDER_H

/* The directory for files that must not survive a boot: sockets and locks. Any thread. */

#include "common/error.h"

#define RUN_FOLDER "/run/zcsi" /* writable for root only */

/* Create the directory if it is missing. Returns 0, or -1 with *err. */
int run_folder_make(struct error *err);
/* Open the file with this path in it, creating it if missing. Returns a descriptor, or -1. */
int run_folder_open(const char *file, struct error *err);

#endif
