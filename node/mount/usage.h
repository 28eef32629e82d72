/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_USAGE_H
#define ZCSI_USAGE_H

/* How full a filesystem is, asked without being held up by one that does not answer. Any thread. */

#include <stdint.h>
#include <sys/statvfs.h>

#include "node/mount/mount.h"

#define USAGE_THREAD "statvfs" /* what `ps -L` calls one that waits for an answer */

/* 0 with *ret filled, or an errno: ETIMEDOUT when there was no answer by the deadline. */
int usage_ask(const struct mount *mount, int64_t deadline, struct statvfs *ret);

#endif
