/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_SCARCITY_H
#define ZCSI_TEST_SCARCITY_H

/* Injection of allocation failures, in all threads: of nghttp2 and OpenSSL (LIBRARIES), or of all
 * other code, libevent included (PROJECT). */

#include <stdbool.h>

enum owner { NO_OWNER, LIBRARIES, PROJECT };

/* Install the allocators; call this first of all. Returns -1 if OpenSSL has allocated already. */
int scarcity_prepare(void);
/* Let allocation n (counted from 0, from now on) fail, and with `stays` all later ones too. */
void scarcity_begin(enum owner owner, unsigned n, bool stays);
/* Stop the failures. Returns how many allocations have failed since scarcity_begin(). */
unsigned scarcity_end(void);

#endif
