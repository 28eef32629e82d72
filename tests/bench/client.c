/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A client that receives the stream of zcsi.bench.Bulk as fast as it comes, and prints the number
 * of message bytes and the microseconds that they took. All servers are measured with this client,
 * so that only the servers differ.
 *
 *	client ENDPOINT METHOD BYTES [CA CERTIFICATE KEY]
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bulk.pb-c.h"
#include "transport/client_stream.h"
#include "transport/trust.h"

struct sink {
	struct loop *loop;
	size_t received;
	struct error outcome;
};

static void on_bytes(struct rpc_stream *stream, const uint8_t *bytes, size_t n)
{
	struct sink *sink = stream->arg;

	(void)bytes;
	sink->received += n;
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct sink *sink = stream->arg;

	sink->outcome = *outcome;
	loop_stop(sink->loop);
}

static void fetch(struct client *client, const char *method, int64_t bytes, struct sink *sink)
{
	static const struct rpc_stream_events events = {.bytes = on_bytes, .closed = on_closed};
	Google__Protobuf__Int64Value wanted = GOOGLE__PROTOBUF__INT64_VALUE__INIT;
	struct rpc_stream *stream = client_stream_begin(client, &zcsi__bench__bulk__descriptor,
							method, NO_DEADLINE, &events, sink);

	wanted.value = bytes;
	rpc_stream_send(stream, &wanted.base);
	rpc_stream_finish(stream, NULL);
	loop_run(sink->loop);
}

static int run(char **argv, struct trust *trust, struct sink *sink, struct error *err)
{
	struct client *client;

	if (loop_new(&sink->loop, err) < 0 || trust_open(trust, err) < 0)
		return -1;
	const struct client_options options = {.limits = &limits_bulk, .tls = trust->tls};
	if (client_new(&client, sink->loop, argv[1], &options, err) < 0)
		return -1;
	int64_t start = now_us();
	fetch(client, argv[2], atoll(argv[3]), sink);
	printf("%zu %lld\n", sink->received, (long long)(now_us() - start));
	client_free(client);
	trust_close(trust);
	loop_free(sink->loop);
	*err = sink->outcome;
	return err->code == ERR_OK ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct trust trust;
	struct sink sink = {0};
	struct error err;

	if (argc == 7)
		trust = (struct trust){.ca = argv[4], .certificate = argv[5], .key = argv[6]};
	if (argc != 4 && argc != 7)
		fail(&err, ERR_INVALID_ARGUMENT,
		     "an endpoint, a method, bytes, then three files or none");
	else if (run(argv, &trust, &sink, &err) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, "client: %s\n", err.text);
	return EXIT_FAILURE;
}
