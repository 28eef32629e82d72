/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_STREAM_PROGRAM_H
#define ZCSI_NODE_STREAM_PROGRAM_H

#include <stdbool.h>

#include "common/child.h"
#include "common/error.h"

/*
 * Check that zfs can run on this host now: no zfs hangs, and the pool is not another host's. Any
 * thread.
 */
int program_check(struct error *err);
/*
 * Fail with what the child wrote to stderr, and with what its status says. said_is_fatal: fail also
 * if it ended with 0 but wrote something. Returns 0, or -1 with *err. Any thread.
 */
int program_judge(struct child *child, const char *const *argv, int status, bool said_is_fatal,
		  struct error *err);

#endif
