/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_SERVICE_H
#define ZCSI_TEST_SERVICE_H

/* The service zcsi.v1.Agent for tests: methods that echo, fail, answer much, or wait. */

#include <stdatomic.h>

#include "proto/agent.h"
#include "tests/transport/looper.h"
#include "transport/server.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* no test handler uses all of its parameters */

#define WAIT INT64_MAX /* the size that makes ResizeDataset wait */

static struct {
	sem_t begun, may_end; /* posted by calls that wait, and awaited by them */
	atomic_uint n_ran;    /* number of waiting calls that have ended */
	int64_t order[1000];  /* sizes in the order of the calls of ResizeDataset */
	atomic_uint n_order;
} service;

#define HANDLER(name, Name)                                                                        \
	static int name(struct rpc_call *call, const Name##Request *req, Name##Response *rsp,      \
			struct error *err)

HANDLER(get_host, GetHost)
{
	rsp->node_id = arena_strdup(&call->arena, "inline");
	return 0;
}

HANDLER(get_dataset, GetDataset)
{
	rsp->dataset = new_dataset(&call->arena);
	rsp->dataset->id = req->id;
	return 0;
}

/* Fails with the code in `size` and the text in `parameters`. */
HANDLER(create_dataset, CreateDataset)
{
	return fail(err, (enum error_code)req->size, "%s", req->parameters);
}

/* Returns a text of `max` bytes. */
HANDLER(list_datasets, ListDatasets)
{
	Dataset *dataset = new_dataset(&call->arena);

	dataset->parameters = arena_alloc(&call->arena, (size_t)req->max + 1);
	memset(dataset->parameters, 'x', (size_t)req->max);
	rsp->datasets = arena_alloc(&call->arena, sizeof(dataset));
	rsp->datasets[rsp->n_datasets++] = dataset;
	return 0;
}

HANDLER(resize_dataset, ResizeDataset)
{
	service.order[atomic_fetch_add(&service.n_order, 1) % COUNT(service.order)] = req->size;
	if (req->size != WAIT)
		return 0;
	sem_post(&service.begun);
	wait_for(&service.may_end);
	atomic_fetch_add(&service.n_ran, 1);
	return 0;
}

#define TEST_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                 \
	INLINE(GetHost, get_host)                                                                  \
	PLAIN(GetDataset, get_dataset)                                                             \
	PLAIN(CreateDataset, create_dataset)                                                       \
	PLAIN(ListDatasets, list_datasets)                                                         \
	KEYED(ResizeDataset, resize_dataset, id)

RPC_SERVICE(test_service, zcsi__v1__agent__descriptor, TEST_METHODS);
static const struct rpc_service *const services[] = {&test_service, NULL};

#endif
