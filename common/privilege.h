/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PRIVILEGE_H
#define ZCSI_PRIVILEGE_H

/* The Linux capabilities (capabilities(7)) of this process, by their numbers. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define PRIVILEGE_BIT(number) (UINT64_C(1) << (number))

/*
 * Drop permanently all capabilities whose bits in kept are not set. Neither this process nor a
 * program that it runs can regain one, not even by a set-user-ID bit. No capability is gained. Call
 * before the first thread starts, because capabilities are per thread. Returns -1 if prctl(2) or
 * capset(2) fails.
 */
int privilege_keep(uint64_t kept, struct error *err);

/* True if the capability is in the effective set of the calling thread. */
bool privilege_held(int number);

#endif
