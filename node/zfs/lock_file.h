/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_ZFS_LOCK_FILE_H
#define ZCSI_NODE_ZFS_LOCK_FILE_H

/*
 * Who works below a parent dataset of this host: one zcsi-node, and every zfs that it has run, for
 * each of them has the lock until it ends. Whoever takes it knows that nothing goes on that an
 * earlier zcsi-node began. The kernel releases it, and the file may stay. It has one number, which
 * outlives the process that kept it, and not the boot.
 *
 * One a process. Opened before and closed after everything that runs a zfs.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/* dataset: pool/parent. Nothing is locked yet. */
int lock_file_open(const char *dataset, struct error *err);
void lock_file_close(void);

/* True: it is ours until it is closed. Does not wait; the catalog's thread. */
bool lock_file_take(void);
/* The number that whoever had the lock has kept last; 0: none, or no file is open. */
uint64_t lock_file_number(void);
/* -1, which is logged: it cannot be written. Without a file there is nothing to keep. */
int lock_file_keep(uint64_t number);
/* For a program that inherits it; 0: none is open. */
int lock_file_descriptor(void);
/* For a person who wants to know who has it. */
const char *lock_file_path(void);

#endif
