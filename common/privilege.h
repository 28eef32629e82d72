/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PRIVILEGE_H
#define ZCSI_PRIVILEGE_H

/* The Linux capabilities (capabilities(7)) that this process has, by their numbers. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define PRIVILEGE_BIT(number) (UINT64_C(1) << (number))

/*
 * Give up, for good, all but those whose bits are set. Neither we nor any program that we run gets
 * one back, not by a set-user-id bit either. Before the first thread: the kernel asks each for its
 * own. What was not held is not gained.
 */
int privilege_keep(uint64_t kept, struct error *err);

/* The calling thread may use it now. */
bool privilege_held(int number);

#endif
