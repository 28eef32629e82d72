/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_FUZZ_SERVICE_H
#define ZCSI_FUZZ_SERVICE_H

/*
 * zcsi.v1.Agent as a fuzzer serves it: methods on the loop, on workers, one after the other, and
 * two that are streams here. It holds the transport to what transport/stream.h says.
 */

#include "transport/server.h"

extern const struct rpc_service *const services[];

/* Streams that hold hear on. */
void service_resume(void);
/* Each stream that was begun has been closed. */
void service_end(void);

#endif
