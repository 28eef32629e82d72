/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A streaming call of the client, and the order of its callbacks. Messages are delivered in order,
 * none while the stream is paused, and no callback comes after the stream was closed.
 */
#include "tests/fuzz/asking.h"

#include "proto/agent.h"
#include "tests/fuzz/fuzz.h"

static struct {
	struct rpc_stream *stream; /* NULL: the stream is closed */
	bool paused, full;
} asking;

static void on_message(struct rpc_stream *stream, const void *message)
{
	const ProtobufCMessage *base = message;

	MUST(stream == asking.stream && !asking.paused);
	MUST(base->descriptor == &zcsi__v1__publish_dataset_response__descriptor);
}

static void on_writable(struct rpc_stream *stream)
{
	MUST(stream == asking.stream && asking.full);
	asking.full = false;
}

static void on_closed(struct rpc_stream *stream, const struct error *outcome)
{
	MUST(stream == asking.stream);
	if (outcome->code != ERR_OK)
		fuzz_check_error(outcome);
	asking.stream = NULL;
}

static void send_message(void)
{
	PublishDatasetRequest request = ZCSI__V1__PUBLISH_DATASET_REQUEST__INIT;

	request.id = (char *)(uintptr_t) "volume";
	asking.full = !rpc_stream_send(asking.stream, &request.base);
}

void asking_begin(struct client *client, int64_t deadline)
{
	static const struct rpc_stream_events events = {
		.message = on_message, .writable = on_writable, .closed = on_closed};

	MUST(!asking.stream);
	asking.paused = asking.full = false;
	asking.stream = client_stream_begin(client, &zcsi__v1__agent__descriptor, "PublishDataset",
					    deadline, &events, NULL);
	send_message();
}

void asking_act(unsigned number)
{
	struct error error;

	if (!asking.stream)
		return;
	switch (number % 5) {
	case 0:
		asking.paused = true;
		rpc_stream_hold(asking.stream);
		break;
	case 1:
		asking.paused = false;
		rpc_stream_resume(asking.stream);
		break;
	case 2:
		send_message();
		break;
	case 3:
		rpc_stream_finish(asking.stream, NULL);
		break;
	default:
		fail(&error, ERR_CANCELLED, "no longer needed");
		rpc_stream_finish(asking.stream, &error);
		break;
	}
}

bool asking_is_over(void)
{
	return !asking.stream;
}
