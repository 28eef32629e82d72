/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_SERVICE_H
#define ZCSI_FUZZ_SERVICE_H

/* The service zcsi.v1.Agent for the fuzzers: methods that run on the loop, on workers, or one after
 * the other, and two streams. It checks what transport/stream.h promises. */

#include "transport/server.h"

extern const struct rpc_service *const services[];

/* Resume all streams that are paused. */
void service_resume(void);
/* Check that all streams are closed. */
void service_end(void);

#endif
