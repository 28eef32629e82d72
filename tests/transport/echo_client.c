/* SPDX-License-Identifier: MPL-2.0 */
/*
 * echo_client ENDPOINT CASE...: this project's client calls a server of echo.proto that is built on
 * another gRPC library. It prints one line per case, "ok CASE" or "not ok CASE: " with the
 * difference.
 *
 * The cases have the names of gRPC's interoperability tests. Two kinds are left out, because the
 * client never sends them: compressed messages and metadata.
 */
#include <stdio.h>
#include <string.h>

#include "tests/transport/echo.h"
#include "tests/transport/echo_trust.h"
#include "tests/transport/looper.h"
#include "transport/client_stream.h"

#define ECHO    (&zcsi__test__echo__descriptor)
#define NOBODY  (&zcsi__test__nobody__descriptor)
#define BURST   10
/* each character needs to be percent-encoded for another reason */
#define SPECIAL "\t100 %25 of\r\n\u263a and \U0001f608 \n"

static struct {
	struct looper looper;
	struct client *client;
} own;

struct scenario {
	const char *name;
	int (*run)(const struct scenario *it, struct error *why);
	const char *method;
	const ProtobufCServiceDescriptor *service; /* the service to call; NULL: ECHO */
	/* the request: this text, or a text of `size` bytes */
	const char *text;
	size_t size;
	uint32_t count;
	int ms; /* timeout; 0: 10 s */
	/* the expected outcome of the call */
	enum error_code code;
	const char *error_text; /* the error text; NULL: any */
	size_t n_bytes;         /* bytes of text in the response */
	/* the following fields are for streams */
	unsigned requests, responses;
	uint32_t first; /* count of the first response; each further one is higher by 1 */
	bool in_step;   /* send the next request only after the response to the last one */
	enum { NEVER, AT_ONCE, ANSWERED } cancels;
};

static char *text_of(struct arena *arena, size_t size)
{
	char *text = arena_alloc(arena, size + 1);

	memset(text, 'x', size);
	return text;
}

static int64_t deadline_of(const struct scenario *it)
{
	return now_ms() + (it->ms ? it->ms : 10000);
}

static int check_outcome(const struct scenario *it, const struct error *outcome, struct error *why)
{
	if (outcome->code != it->code)
		return fail(why, ERR_UNKNOWN, "ended as %s (%s), not %s", error_name(outcome->code),
			    outcome->text, error_name(it->code));
	if (it->error_text && strcmp(outcome->text, it->error_text) != 0)
		return fail(why, ERR_UNKNOWN, "the message was '%s'", outcome->text);
	return 0;
}

/* Functions for scenarios with unary calls. */

static struct client_call *begin(const struct scenario *it, struct arena *arena)
{
	EchoRequest *request = new_echo_request(arena);

	request->text = it->text ? arena_strdup(arena, it->text) : text_of(arena, it->size);
	request->count = it->count;
	return client_begin(own.client, arena, it->service ? it->service : ECHO, it->method,
			    &request->base, deadline_of(it));
}

static int finish(const struct scenario *it, struct client_call *call, uint32_t *ret_count,
		  struct error *why)
{
	struct error outcome = {.code = ERR_OK};
	EchoResponse *response = NULL;

	client_finish(call, &response, &outcome);
	if (check_outcome(it, &outcome, why) < 0)
		return -1;
	if (!it->code && strlen(response->text) != it->n_bytes)
		return fail(why, ERR_UNKNOWN, "%zu bytes came", strlen(response->text));
	*ret_count = it->code ? 0 : response->count;
	return 0;
}

static int ask(const struct scenario *it, uint32_t *ret_count, struct error *why)
{
	struct arena arena;
	int result;

	arena_init(&arena, 1 << 20);
	result = finish(it, begin(it, &arena), ret_count, why);
	arena_fini(&arena);
	return result;
}

static int unary(const struct scenario *it, struct error *why)
{
	uint32_t count;

	return ask(it, &count, why);
}

/* The server returns the number of the connection as the count; two calls must be on different
 * connections. */
static int on_two_connections(const struct scenario *it, struct error *why)
{
	uint32_t first, second;

	if (ask(it, &first, why) < 0 || ask(it, &second, why) < 0)
		return -1;
	if (first == second)
		return fail(why, ERR_UNKNOWN, "both calls were on connection %u", first);
	return 0;
}

static int at_the_same_time(const struct scenario *it, struct error *why)
{
	struct client_call *calls[BURST];
	struct arena arenas[BURST];
	uint32_t count;
	int result = 0;

	for (unsigned i = 0; i < BURST; i++) {
		arena_init(&arenas[i], 1 << 20);
		calls[i] = begin(it, &arenas[i]);
	}
	for (unsigned i = 0; i < BURST; i++) {
		result |= finish(it, calls[i], &count, why);
		arena_fini(&arenas[i]);
	}
	return result;
}

/* Functions for scenarios with streaming calls. */

struct stream_call {
	const struct scenario *it;
	unsigned sent, received;
	bool wrong; /* a response was not the expected one */
	struct error outcome;
	sem_t closed;
};

static void cancel(struct rpc_stream *stream)
{
	struct error error;

	fail(&error, ERR_CANCELLED, "given up");
	rpc_stream_finish(stream, &error);
}

static void send_requests(struct rpc_stream *stream)
{
	struct stream_call *stream_call = stream->arg;
	const struct scenario *it = stream_call->it;
	EchoRequest request = ZCSI__TEST__ECHO_REQUEST__INIT;

	while (stream_call->sent < it->requests &&
	       (!it->in_step || stream_call->sent == stream_call->received)) {
		request.text = text_of(&stream->arena, it->size);
		request.count = it->count ? it->count : stream_call->sent;
		if (!rpc_stream_send(stream, &request.base))
			return;
		stream_call->sent++;
	}
	if (stream_call->sent == it->requests &&
	    (!it->in_step || stream_call->sent == stream_call->received))
		rpc_stream_finish(stream, NULL);
}

static void on_message(struct rpc_stream *stream, const void *message)
{
	struct stream_call *stream_call = stream->arg;
	const struct scenario *it = stream_call->it;
	const EchoResponse *response = message;

	stream_call->wrong |= response->count != it->first + stream_call->received ||
			      strlen(response->text) != it->size;
	stream_call->received++;
	if (it->cancels == ANSWERED)
		cancel(stream);
	else if (it->in_step)
		send_requests(stream);
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	struct stream_call *stream_call = stream->arg;

	stream_call->outcome = *outcome;
	sem_post(&stream_call->closed);
}

static void open_stream(void *arg)
{
	static const struct rpc_stream_events events = {
		.message = on_message, .writable = send_requests, .closed = on_closed};
	struct stream_call *stream_call = arg;
	const struct scenario *it = stream_call->it;
	struct rpc_stream *stream = client_stream_begin(own.client, ECHO, it->method,
							deadline_of(it), &events, stream_call);

	if (it->cancels == AT_ONCE)
		cancel(stream);
	else
		send_requests(stream);
}

static int stream(const struct scenario *it, struct error *why)
{
	struct stream_call stream_call = {.it = it};

	sem_init(&stream_call.closed, 0, 0);
	looper_do(&own.looper, open_stream, &stream_call);
	wait_for(&stream_call.closed);
	if (check_outcome(it, &stream_call.outcome, why) < 0)
		return -1;
	if (stream_call.wrong || stream_call.received != it->responses)
		return fail(why, ERR_UNKNOWN, "%u responses%s", stream_call.received,
			    stream_call.wrong ? ", not the right ones" : "");
	return 0;
}

static const struct scenario scenarios[] = {
	{"empty_unary", unary, .method = "Echo"},
	{"large_unary", unary, .method = "Make", .size = 271828, .count = 314159,
	 .n_bytes = 314159},
	/* the servers' method Echo answers the text "metadata" with metadata */
	{"custom_metadata", unary, .method = "Echo", .text = "metadata", .n_bytes = 8},
	{"status_code_and_message", unary, .method = "Fail", .text = "as told", .count = 2,
	 .code = 2, .error_text = "as told"},
	{"special_status_message", unary, .method = "Fail", .text = SPECIAL, .count = 2, .code = 2,
	 .error_text = SPECIAL},
	{"unimplemented_method", unary, .method = "Nothing", .code = ERR_UNIMPLEMENTED},
	{"unimplemented_service", unary, .method = "Echo", .service = NOBODY,
	 .code = ERR_UNIMPLEMENTED},
	{"timeout_on_sleeping_server", unary, .method = "Hang", .ms = 200,
	 .code = ERR_DEADLINE_EXCEEDED},
	{"client_streaming", stream, .method = "Collect", .size = 27182, .requests = 4,
	 .responses = 1, .first = 4},
	{"server_streaming", stream, .method = "Repeat", .size = 31415, .count = 4, .requests = 1,
	 .responses = 4},
	{"ping_pong", stream, .method = "Chat", .size = 58979, .requests = 4, .responses = 4,
	 .in_step = true},
	{"empty_stream", stream, .method = "Chat"},
	{"cancel_after_begin", stream, .method = "Collect", .cancels = AT_ONCE,
	 .code = ERR_CANCELLED},
	{"cancel_after_first_response", stream, .method = "Chat", .size = 27182, .requests = 4,
	 .responses = 1, .in_step = true, .cancels = ANSWERED, .code = ERR_CANCELLED},
	/* in the following cases the text names the fault that the server causes */
	{"goaway", on_two_connections, .method = "Echo", .text = "goaway", .n_bytes = 6},
	{"rst_after_header", unary, .method = "Echo", .text = "rst_after_header",
	 .code = ERR_INTERNAL},
	{"rst_during_data", unary, .method = "Echo", .text = "rst_during_data",
	 .code = ERR_INTERNAL},
	{"rst_after_data", unary, .method = "Echo", .text = "rst_after_data", .code = ERR_INTERNAL},
	{"ping", unary, .method = "Echo", .text = "ping", .n_bytes = 4},
	{"max_streams", at_the_same_time, .method = "Echo", .text = "max_streams", .n_bytes = 11},
};

static int play(const char *name, struct error *why)
{
	for (size_t i = 0; i < COUNT(scenarios); i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return scenarios[i].run(&scenarios[i], why);
	return fail(why, ERR_NOT_FOUND, "there is no such case");
}

static int play_all(char **names)
{
	struct error why;
	int failed = 0;

	for (; *names; names++) {
		if (play(*names, &why) == 0) {
			printf("ok %s\n", *names);
		} else {
			printf("not ok %s: %s\n", *names, why.text);
			failed = 1;
		}
	}
	return failed;
}

static void stop(void *arg)
{
	loop_stop(arg);
}

static int connect_and_play(const char *endpoint, char **names, struct error *err)
{
	struct trust trust;
	struct arena paths;
	int failed;

	arena_init(&paths, 4096);
	if (echo_trust(&trust, &paths, err) < 0 || loop_new(&own.looper.loop, err) < 0 ||
	    client_new(&own.client, own.looper.loop, endpoint,
		       &(struct client_options){.tls = trust.tls}, err) < 0)
		return -1;
	looper_start(&own.looper);
	failed = play_all(names);
	looper_do(&own.looper, stop, own.looper.loop);
	pthread_join(own.looper.thread, NULL);
	client_free(own.client);
	loop_free(own.looper.loop);
	trust_close(&trust);
	arena_fini(&paths);
	return failed;
}

int main(int argc, char **argv)
{
	struct error err;
	int failed;

	if (argc < 3) {
		fprintf(stderr, "echo_client ENDPOINT CASE...\n");
		return 2;
	}
	failed = connect_and_play(argv[1], argv + 2, &err);
	if (failed < 0)
		fprintf(stderr, "%s\n", err.text);
	return failed != 0;
}
