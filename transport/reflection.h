/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_REFLECTION_H
#define ZCSI_REFLECTION_H

/* Both versions of the service grpc.reflection, served on every endpoint, for grpcurl etc. */

#include "transport/service.h"

extern const struct rpc_service reflection_service;
extern const struct rpc_service reflection_v1alpha_service;

#endif
