/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The server that make bench-transport measures for calls that no daemon offers: Identity/Probe run
 * by a worker thread, and zcsi.bench.Bulk.
 *
 *	server ENDPOINT [CA CERTIFICATE KEY]
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "proto/csi.h"
#include "tests/bench/bulk.pb-c.h"
#include "transport/daemon.h"

#define N_WORKERS 4
#define KIB       ((size_t)1024)
#define MIB       (1024 * KIB)

/* The service csi.v1.Identity with Probe only. */

static int probe(struct rpc_call *call, const ProbeRequest *req, ProbeResponse *rsp,
		 struct error *err)
{
	(void)req, (void)err;
	rsp->ready = arena_alloc(&call->arena, sizeof(*rsp->ready));
	google__protobuf__bool_value__init(rsp->ready);
	rsp->ready->value = true;
	return 0;
}

#define IDENTITY_METHODS(INLINE, PLAIN, KEYED, STREAM) PLAIN(Probe, probe)

RPC_SERVICE(identity, csi__v1__identity__descriptor, IDENTITY_METHODS);

/* The service zcsi.bench.Bulk: it sends the requested number of bytes, all from one buffer. */

struct sending {
	Google__Protobuf__BytesValue chunk;
	int64_t left;
};

static void send_on(struct rpc_stream *stream)
{
	struct sending *it = stream->arg;

	while (it->left > 0 && rpc_stream_send(stream, &it->chunk.base))
		it->left -= (int64_t)it->chunk.value.len;
	if (it->left <= 0)
		rpc_stream_finish(stream, NULL);
}

static void on_wanted(struct rpc_stream *stream, const void *message)
{
	const Google__Protobuf__Int64Value *wanted = message;
	struct sending *it = stream->arg;

	it->left = wanted->value;
	send_on(stream);
}

static int begin(struct rpc_stream *stream, size_t size)
{
	static const struct rpc_stream_events events = {
		.single = true, .message = on_wanted, .writable = send_on};
	static uint8_t zeros[MIB];
	struct sending *it = arena_alloc(&stream->arena, sizeof(*it));

	google__protobuf__bytes_value__init(&it->chunk);
	it->chunk.value = (ProtobufCBinaryData){size, zeros};
	stream->arg = it;
	stream->events = &events;
	return 0;
}

static int send_64kib(struct rpc_stream *stream, struct error *err)
{
	(void)err;
	return begin(stream, 64 * KIB);
}

static int send_1mib(struct rpc_stream *stream, struct error *err)
{
	(void)err;
	return begin(stream, MIB);
}

#define BULK_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                 \
	STREAM(Send64KiB, send_64kib)                                                              \
	STREAM(Send1MiB, send_1mib)

RPC_SERVICE(bulk, zcsi__bench__bulk__descriptor, BULK_METHODS);

static const struct rpc_service *const services[] = {&identity, &bulk, NULL};

static int start(struct daemon *daemon, const char *endpoint, struct trust *trust,
		 struct error *err)
{
	const struct server_offer offer = {.services = services, .trust = trust};

	if (log_setup("warn", "logfmt", err) < 0 || daemon_init(daemon, N_WORKERS, err) < 0 ||
	    trust_open(trust, err) < 0)
		return -1;
	/* Bulk data has limits of its own, which make no difference to Probe. */
	server_free(daemon->server);
	daemon->server = server_new(daemon->loop, daemon->workers, &limits_bulk);
	return server_listen(daemon->server, endpoint, &offer, err);
}

int main(int argc, char **argv)
{
	static struct trust trust;
	struct daemon daemon;
	struct error err;

	if (argc == 5)
		trust = (struct trust){.ca = argv[2], .certificate = argv[3], .key = argv[4]};
	if (argc != 2 && argc != 5)
		fail(&err, ERR_INVALID_ARGUMENT, "an endpoint, then three files or none");
	else if (start(&daemon, argv[1], &trust, &err) == 0) {
		daemon_run(&daemon);
		daemon_fini(&daemon, NULL, NULL);
		trust_close(&trust);
		return EXIT_SUCCESS;
	}
	fprintf(stderr, "server: %s\n", err.text);
	return EXIT_FAILURE;
}
