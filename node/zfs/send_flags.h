/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_SEND_FLAGS_H
#define ZCSI_NODE_ZFS_SEND_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/*
 * *ret is the options of `zfs send` for this dataset, in one word, or NULL: zfs-fuse has none. The
 * blocks of an encrypted volume are sent raw, others compressed as they are on disk. ERR_NOT_FOUND
 * if the dataset does not exist. Runs one program.
 */
int send_flags(const char *dataset, const char **ret, struct error *err);

/* Returns the options of `zfs send` of OpenZFS for an encrypted or another dataset. Static text. */
const char *send_flags_for(bool encrypted);

#define SEND_WORDS_MAX 16

/*
 * *ret is how many bytes a `zfs send` will write, as it estimates itself; 0 if it does not say.
 * argv has n words, at most SEND_WORDS_MAX. Not for zfs-fuse. Runs one program.
 */
int send_estimate(const char *const *argv, size_t n, int64_t *ret, struct error *err);
/*
 * Returns the guid of the snapshot with which the interrupted stream of a token ends; 0 if zfs here
 * cannot continue that stream. *ret_size is the bytes that are left to send. Runs one program.
 */
uint64_t send_of_token(const char *token, int64_t *ret_size);
/*
 * *ret is true if anything was written to a dataset after a snapshot of it, as the stream between
 * the two shows. The property `written` is greater than 0 also if only the header of the intent log
 * was written. The stream lacks what is in that log (node/attach/complete.h). The dataset must not
 * be mounted, open or encrypted. For OpenZFS only. Returns 0, or -1 with *err. Runs one program.
 */
int send_differs(const char *snapshot, const char *dataset, bool *ret, struct error *err);
/* Returns true if a stream of n bytes has a begin and an end, and nothing between. For tests. */
bool send_is_empty(const char *stream, size_t n);
/* Returns the size in what a `zfs send -nP` prints, also for a stream that is continued; or 0. */
int64_t send_size(const char *printed);

#endif
