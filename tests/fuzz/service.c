/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The service of the fuzzers. The request decides what a handler does, so that a fuzzer can reach
 * every way in which a call ends.
 */
#include "tests/fuzz/service.h"

#include <string.h>

#include "proto/agent.h"
#include "tests/fuzz/fuzz.h"

/* Handlers of unary methods. */

#define UNUSED __attribute__((unused))
#define HANDLER(name, Name)                                                                        \
	static int name(UNUSED struct rpc_call *call, UNUSED const Name##Request *req,             \
			UNUSED Name##Response *rsp, UNUSED struct error *err)

HANDLER(get_host, GetHost)
{
	rsp->node_id = arena_strdup(&call->arena, "here");
	return 0;
}

HANDLER(get_dataset, GetDataset)
{
	rsp->dataset = new_dataset(&call->arena);
	rsp->dataset->id = req->id;
	return 0;
}

/* Fails with any code, chosen by the size in the request. */
HANDLER(create_dataset, CreateDataset)
{
	return fail(err, (enum error_code)(1 + (uint64_t)req->size % 16), "%s", req->parameters);
}

/* Returns an answer that takes many writes. */
HANDLER(list_datasets, ListDatasets)
{
	size_t n = (size_t)req->max % 300000;
	Dataset *dataset = new_dataset(&call->arena);

	dataset->parameters = arena_alloc(&call->arena, n + 1);
	memset(dataset->parameters, 'x', n);
	rsp->datasets = arena_alloc(&call->arena, sizeof(dataset));
	rsp->datasets[rsp->n_datasets++] = dataset;
	return 0;
}

HANDLER(resize_dataset, ResizeDataset)
{
	return 0;
}

/* Handlers of streaming methods. */

#define STREAMS 64 /* limit of concurrent streams */

static struct open_stream {
	struct rpc_stream *rpc; /* NULL: a free slot */
	bool paused, ended;
	bool full;     /* the last message was not queued */
	unsigned left; /* messages still to be sent */
} streams[STREAMS];

static void open_stream(struct rpc_stream *rpc, const struct rpc_stream_events *events)
{
	struct open_stream *stream = streams;

	while (stream->rpc)
		MUST(++stream < streams + STREAMS);
	*stream = (struct open_stream){.rpc = rpc};
	rpc->events = events;
	rpc->arg = stream;
}

static void on_closed(struct rpc_stream *rpc, const struct error *outcome)
{
	struct open_stream *stream = rpc->arg;

	MUST(stream->rpc == rpc);
	MUST(outcome->code == ERR_OK || *outcome->text);
	stream->rpc = NULL;
}

static bool send_text(struct rpc_stream *rpc, const char *text)
{
	GetHostResponse response = ZCSI__V1__GET_HOST_RESPONSE__INIT;

	response.node_id = (char *)(uintptr_t)text;
	return rpc_stream_send(rpc, &response.base);
}

/* Echo the message. Its first letter decides if the stream is paused (h), fails (f), or finishes
 * early (o). */
static void on_echo(struct rpc_stream *rpc, const void *message)
{
	const PublishDatasetRequest *req = message;
	struct open_stream *stream = rpc->arg;
	struct error error;

	MUST(!stream->paused && !stream->ended);
	fail(&error, ERR_ABORTED, "%s", req->id);
	stream->full = !send_text(rpc, req->id);
	stream->paused = stream->full || req->id[0] == 'h';
	if (stream->paused)
		rpc_stream_hold(rpc);
	if (req->id[0] == 'f' || req->id[0] == 'o')
		rpc_stream_finish(rpc, req->id[0] == 'f' ? &error : NULL);
}

static void on_echo_writable(struct rpc_stream *rpc)
{
	struct open_stream *stream = rpc->arg;

	MUST(stream->full);
	stream->full = stream->paused = false;
	rpc_stream_resume(rpc);
}

static void on_echo_ended(struct rpc_stream *rpc)
{
	struct open_stream *stream = rpc->arg;

	MUST(!stream->ended && !stream->paused);
	stream->ended = true;
	rpc_stream_finish(rpc, NULL);
}

static int publish_dataset(struct rpc_stream *rpc, UNUSED struct error *err)
{
	static const struct rpc_stream_events events = {.message = on_echo,
							.ended = on_echo_ended,
							.writable = on_echo_writable,
							.closed = on_closed};

	open_stream(rpc, &events);
	return 0;
}

/* Send as many messages as the id of the request is long, each as soon as there is room. */
static void send_more(struct rpc_stream *rpc)
{
	struct open_stream *stream = rpc->arg;
	char text[1000];

	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	while (stream->left > 0 && send_text(rpc, text))
		stream->left--;
	if (stream->left == 0)
		rpc_stream_finish(rpc, NULL);
}

static void on_count(struct rpc_stream *rpc, const void *message)
{
	const UnpublishDatasetRequest *req = message;
	struct open_stream *stream = rpc->arg;

	MUST(!stream->ended);
	stream->ended = true; /* the method has one request, so no other may come */
	stream->left = (unsigned)strlen(req->id);
	send_more(rpc);
}

static int unpublish_dataset(struct rpc_stream *rpc, UNUSED struct error *err)
{
	static const struct rpc_stream_events events = {
		.single = true, .message = on_count, .writable = send_more, .closed = on_closed};

	open_stream(rpc, &events);
	return 0;
}

void service_resume(void)
{
	for (size_t i = 0; i < STREAMS; i++) {
		if (!streams[i].rpc || !streams[i].paused)
			continue;
		streams[i].paused = streams[i].full = false;
		rpc_stream_resume(streams[i].rpc);
	}
}

void service_end(void)
{
	for (size_t i = 0; i < STREAMS; i++)
		MUST(!streams[i].rpc);
}

#define FUZZ_METHODS(INLINE, PLAIN, KEYED, STREAM)                                                 \
	INLINE(GetHost, get_host)                                                                  \
	PLAIN(GetDataset, get_dataset)                                                             \
	INLINE(CreateDataset, create_dataset)                                                      \
	PLAIN(ListDatasets, list_datasets)                                                         \
	KEYED(ResizeDataset, resize_dataset, id)                                                   \
	STREAM(PublishDataset, publish_dataset)                                                    \
	STREAM(UnpublishDataset, unpublish_dataset)

RPC_SERVICE(fuzz_service, zcsi__v1__agent__descriptor, FUZZ_METHODS);

const struct rpc_service *const services[] = {&fuzz_service, NULL};
