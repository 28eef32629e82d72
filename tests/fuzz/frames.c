/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A strict reader of HTTP/2 frames. It reads the nine bytes at the beginning of each frame, which
 * is enough to check that the frame is allowed in the state of its stream.
 */
#include "tests/fuzz/frames.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

#define PAYLOAD_MAX (1u << 16)

enum {
	DATA,
	HEADERS,
	PRIORITY,
	RST_STREAM,
	SETTINGS,
	PUSH_PROMISE,
	PING,
	GOAWAY,
	WINDOW_UPDATE,
	CONTINUATION,
	TYPES
};

enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

struct frame {
	uint32_t size, stream;
	uint8_t type, flags;
};

/* The frames that are allowed on a stream or on the connection, with their minimum and maximum
 * size. */
static const struct {
	bool on_stream, on_connection;
	uint32_t least, most;
} forms[TYPES] = {
	[DATA] = {true, false, 0, PAYLOAD_MAX}, [HEADERS] = {true, false, 1, PAYLOAD_MAX},
	[RST_STREAM] = {true, false, 4, 4},     [SETTINGS] = {false, true, 0, 6 * 32},
	[PING] = {false, true, 8, 8},           [GOAWAY] = {false, true, 8, PAYLOAD_MAX},
	[WINDOW_UPDATE] = {true, true, 4, 4},   [CONTINUATION] = {true, false, 1, PAYLOAD_MAX},
	/* PRIORITY and PUSH_PROMISE are never sent */
};

/* Returns the slot of the stream, or a free slot for it. An input is too short to fill the
 * table. */
static size_t place_of(const struct frames *frames, uint32_t id)
{
	size_t i = id / 2 % FRAMES_STREAMS;

	for (size_t n = 0; frames->streams[i].id && frames->streams[i].id != id; n++) {
		MUST(n < FRAMES_STREAMS);
		i = (i + 1) % FRAMES_STREAMS;
	}
	return i;
}

static void check_headers(const struct frames *frames, struct frame_stream *stream,
			  const struct frame *frame)
{
	bool ends = frame->flags & END_STREAM;

	MUST(!stream->ended && !stream->reset);
	/* a request has no trailers; those of a response end the stream */
	MUST(!stream->headed || (ends && !frames->is_client));
	stream->headed = true;
	stream->ended = ends;
}

static void check_stream(struct frames *frames, const struct frame *frame)
{
	struct frame_stream *stream = &frames->streams[place_of(frames, frame->stream)];

	/* a server may push a stream before it has received the client's SETTINGS, which forbid
	 * pushes; the client then resets the stream */
	MUST(frame->stream % 2 == 1 || (frames->is_client && frame->type == RST_STREAM));
	stream->id = frame->stream;
	switch (frame->type) {
	case HEADERS:
		check_headers(frames, stream, frame);
		break;
	case DATA:
		MUST(stream->headed && !stream->ended && !stream->reset);
		stream->ended = frame->flags & END_STREAM;
		stream->data += frame->size;
		break;
	case RST_STREAM:
		MUST(!stream->reset);
		stream->reset = true;
		break;
	default:
		break;
	}
}

static void check(struct frames *frames, const struct frame *frame)
{
	MUST(frame->type < TYPES);
	MUST(frame->stream ? forms[frame->type].on_stream : forms[frame->type].on_connection);
	MUST(frame->size >= forms[frame->type].least && frame->size <= forms[frame->type].most);
	MUST(frame->type != SETTINGS || frame->size % 6 == 0);
	MUST(frames->n > 0 || (frame->type == SETTINGS && !(frame->flags & ACK)));
	MUST((frame->type == CONTINUATION) == frames->continues);
	if (frame->stream)
		check_stream(frames, frame);
	if (frame->type == HEADERS || frame->type == CONTINUATION)
		frames->continues = !(frame->flags & END_HEADERS);
	frames->n++;
}

static struct frame decode(const uint8_t head[FRAME_HEAD])
{
	return (struct frame){
		.size = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2],
		.type = head[3],
		.flags = head[4],
		.stream = (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 |
			  (uint32_t)head[7] << 8 | head[8],
	};
}

static void take_byte(struct frames *frames, uint8_t byte)
{
	if (frames->is_client && frames->preface < FRAMES_PREFACE_) {
		MUST(byte == (uint8_t)FRAMES_PREFACE[frames->preface]);
		frames->preface++;
		return;
	}
	frames->head[frames->n_head++] = byte;
	if (frames->n_head < FRAME_HEAD)
		return;
	struct frame frame = decode(frames->head);
	check(frames, &frame);
	frames->n_head = 0;
	frames->n_payload = frame.size;
}

void frames_take(struct frames *frames, const uint8_t *bytes, size_t n)
{
	while (n > 0) {
		size_t skip = frames->n_payload < n ? frames->n_payload : n;
		frames->n_payload -= skip;
		bytes += skip;
		n -= skip;
		if (n > 0 && frames->n_payload == 0) {
			take_byte(frames, *bytes++);
			n--;
		}
	}
}

const struct frame_stream *frames_stream(const struct frames *frames, uint32_t id)
{
	const struct frame_stream *stream = &frames->streams[place_of(frames, id)];

	return stream->id == id ? stream : NULL;
}
