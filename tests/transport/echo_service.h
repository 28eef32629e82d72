/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_ECHO_SERVICE_H
#define ZCSI_TEST_ECHO_SERVICE_H

/* Handlers of echo.proto. They read no faster than their clients do: none stores more than one
 * message. */

#include "tests/transport/echo.h"
#include "transport/service.h"

int echo(struct rpc_call *call, const EchoRequest *req, EchoResponse *rsp, struct error *err);
rpc_open_fn collect, repeat, chat;

#define ECHO_ROWS(PLAIN, STREAM)                                                                   \
	PLAIN(Echo, echo)                                                                          \
	STREAM(Collect, collect)                                                                   \
	STREAM(Repeat, repeat)                                                                     \
	STREAM(Chat, chat)

#endif
