/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_RPC_INSIDE_H
#define ZCSI_RPC_INSIDE_H

/* The steps of a call, for those who take them: find the method, decode, run, encode. */

#include "transport/limits.h"
#include "transport/service.h"

/* By its full name, of which size bytes count; NULL. services: the last one NULL. */
const struct rpc_service *rpc_service_find(const struct rpc_service *const *services,
					   const char *name, size_t size);
/* Find a method by its path "/pkg.Service/Method"; -1: ERR_UNIMPLEMENTED. */
int rpc_find(const struct rpc_service *const *services, const char *path, struct rpc_target *ret,
	     struct error *err);
/* Decode the request. On the loop. */
int rpc_decode(struct rpc_call *call, const uint8_t *bytes, size_t n, const struct limits *limits,
	       struct error *err);
/* Run the handler and encode its answer. Any thread. */
int rpc_run(struct rpc_call *call, size_t message_max, struct error *err);

#endif
