/* SPDX-License-Identifier: MPL-2.0 */
/*
 * echo_server ENDPOINT: the service of echo.proto, for clients that are built on other gRPC
 * libraries. It runs until SIGTERM.
 */
#include <stdio.h>
#include <string.h>

#include "tests/transport/echo_service.h"
#include "tests/transport/echo_trust.h"
#include "transport/daemon.h"

typedef EchoRequest MakeRequest;
typedef EchoResponse MakeResponse;
typedef EchoRequest FailRequest;
typedef EchoResponse FailResponse;

static int make(struct rpc_call *call, const EchoRequest *req, EchoResponse *rsp, struct error *err)
{
	(void)err;
	rsp->text = arena_alloc(&call->arena, (size_t)req->count + 1);
	memset(rsp->text, 'x', req->count);
	return 0;
}

static int fail_as_told(struct rpc_call *call, const EchoRequest *req, EchoResponse *rsp,
			struct error *err)
{
	(void)call;
	(void)rsp;
	return fail(err, (enum error_code)req->count, "%s", req->text);
}

static int hang(struct rpc_stream *stream, struct error *err)
{
	static const struct rpc_stream_events events = {.single = true};

	(void)err;
	stream->events = &events;
	return 0;
}

#define ECHO_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                 \
	ECHO_ROWS(PLAIN, STREAM)                                                                   \
	PLAIN(Make, make)                                                                          \
	PLAIN(Fail, fail_as_told)                                                                  \
	STREAM(Hang, hang)

RPC_SERVICE(echo_service, zcsi__test__echo__descriptor, ECHO_METHODS);

static int serve(struct daemon *daemon, const char *endpoint, struct error *err)
{
	static const struct rpc_service *const services[] = {&echo_service, NULL};
	struct trust trust;
	const struct server_offer offer = {.services = services, .trust = &trust};
	struct arena paths;
	int failed;

	arena_init(&paths, 4096);
	failed = echo_trust(&trust, &paths, err) < 0 || daemon_init(daemon, 2, err) < 0 ||
		 server_listen(daemon->server, endpoint, &offer, err) < 0;
	if (!failed) {
		daemon_run(daemon);
		daemon_fini(daemon, NULL, NULL);
		trust_close(&trust);
	}
	arena_fini(&paths);
	return failed;
}

int main(int argc, char **argv)
{
	struct daemon daemon;
	struct error err;

	if (argc != 2)
		fprintf(stderr, "echo_server ENDPOINT\n");
	else if (!serve(&daemon, argv[1], &err))
		return 0;
	else
		fprintf(stderr, "%s\n", err.text);
	return 1;
}
