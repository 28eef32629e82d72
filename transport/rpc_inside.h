/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_RPC_INSIDE_H
#define ZCSI_RPC_INSIDE_H

/* The steps of a call, for the server: find the method, decode, run the handler, encode. */

#include "transport/limits.h"
#include "transport/service.h"

/*
 * Find a service by its full name, which has size bytes. services ends with NULL. Returns NULL if
 * there is no such service.
 */
const struct rpc_service *rpc_service_find(const struct rpc_service *const *services,
					   const char *name, size_t size);
/* Find a method by its path "/pkg.Service/Method". Returns -1 with ERR_UNIMPLEMENTED if unknown. */
int rpc_find(const struct rpc_service *const *services, const char *path, struct rpc_target *ret,
	     struct error *err);
/* Decode n bytes into call->request. Loop thread. Returns -1 as message_decode does. */
int rpc_decode(struct rpc_call *call, const uint8_t *bytes, size_t n, const struct limits *limits,
	       struct error *err);
/*
 * Run the handler and encode its response into call->reply. Any thread. Returns -1 if the handler
 * fails, or with ERR_RESOURCE_EXHAUSTED if the response exceeds message_max bytes.
 */
int rpc_run(struct rpc_call *call, size_t message_max, struct error *err);

#endif
