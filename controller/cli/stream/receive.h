/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_STREAM_RECEIVE_H
#define ZCSI_CLI_STREAM_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define STREAM_HEAD_SIZE 312 /* bytes of a stream's first record */

/* The first record of a stream of zfs-send(8). */
struct stream_head {
	bool zvol;
	bool raw; /* an encrypted stream (zfs send --raw) */
};

/*
 * Parse the first record. Returns 0, or -1 with *err if it does not begin a stream from which one
 * new volume can be made.
 */
int stream_head_parse(const uint8_t bytes[STREAM_HEAD_SIZE], struct stream_head *ret,
		      struct error *err);

#endif
