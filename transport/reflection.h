/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_REFLECTION_H
#define ZCSI_REFLECTION_H

/* grpc.reflection, both versions, on every endpoint: for grpcurl and the like. */

#include "transport/service.h"

extern const struct rpc_service reflection_service;
extern const struct rpc_service reflection_v1alpha_service;

#endif
