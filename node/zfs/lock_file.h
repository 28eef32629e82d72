/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_LOCK_FILE_H
#define ZCSI_NODE_ZFS_LOCK_FILE_H

/*
 * The lock of a parent dataset on this host. zcsi-node holds it, and every zfs that it runs
 * inherits it until that zfs ends. So when a zcsi-node gets the lock, no zfs of an earlier
 * zcsi-node is still running. The kernel releases the lock; the file stays. The file stores one
 * number, which survives a restart of zcsi-node but not a boot.
 *
 * One per process. Open it before the first zfs runs, and close it after the last.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/* Open the file for the dataset pool/parent, without locking it. Returns 0, or -1 with *err. */
int lock_file_open(const char *dataset, struct error *err);
/* Close the file, which releases the lock unless a zfs has inherited it. */
void lock_file_close(void);

/* Try to lock the file without blocking, on the catalog's thread. Returns true if it is locked. */
bool lock_file_take(void);
/* Returns the number that was stored last, also by an earlier process; 0: none, or not open. */
uint64_t lock_file_number(void);
/* Store the number. Returns 0, also if the file is not open, or -1 after logging the error. */
int lock_file_keep(uint64_t number);
/* Returns the descriptor that a zfs inherits; 0: not open. */
int lock_file_descriptor(void);
/* Returns the path of the file, for error texts. */
const char *lock_file_path(void);

#endif
