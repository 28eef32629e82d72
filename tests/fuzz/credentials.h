/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_CREDENTIALS_H
#define ZCSI_FUZZ_CREDENTIALS_H

/* A certificate for localhost, a CA of its own, in files that only this process has. */

#include "transport/tls.h"

/* Made once; the process keeps it. */
struct tls *credentials(void);

#endif
