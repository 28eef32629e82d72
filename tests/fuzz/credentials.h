/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_CREDENTIALS_H
#define ZCSI_FUZZ_CREDENTIALS_H

/* A self-signed certificate for localhost, in files that only this process can open. */

#include "transport/tls.h"

/* Returns the settings for TLS. They are made at the first call and belong to the process. */
struct tls *credentials(void);

#endif
