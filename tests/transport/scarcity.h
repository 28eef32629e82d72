/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_SCARCITY_H
#define ZCSI_TEST_SCARCITY_H

/*
 * Allocations that fail when a test wants it: nghttp2's and OpenSSL's, or those of ours, among
 * which are libevent's. In all threads.
 */

#include <stdbool.h>

enum whose { NOBODYS, THEIRS, OURS };

/* First of all; -1: OpenSSL has allocated already. */
int scarcity_prepare(void);
/* The n-th from now on fails, counted from 0; or all from there. */
void scarcity_begin(enum whose whose, unsigned n, bool stays);
/* How many have failed since. */
unsigned scarcity_end(void);

#endif
