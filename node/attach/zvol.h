/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ATTACH_ZVOL_H
#define ZCSI_NODE_ATTACH_ZVOL_H

/* A zvol with a file system on it. */

#include "node/attach/staging.h"

/*
 * Stage one that is mounted nowhere on this host. Its file system is made if the device is blank;
 * one that is found there is taken over with a new UUID; both once in its life, and recorded in
 * zcsi:formatted. It is as large as the device. ERR_FAILED_PRECONDITION: there is something else,
 * or what was there is gone; nothing was changed.
 */
int zvol_stage(const struct staging *staging, struct error *err);
/* Let the file system that is mounted at a path grow to the end of its device. */
int zvol_grow(const struct format *format, const char *path, struct error *err);

#endif
