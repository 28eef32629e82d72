/* SPDX-License-Identifier: MPL-2.0 */
/*
 * What nghttp2 reports of a connection: header fields, data, frames and closed streams become calls
 * of the role, and what a peer overdoes ends the connection.
 *
 * Invariant: a callback always returns 0; nghttp2 1.52 leaks when on_stream_close fails
 * (CVE-2023-35945).
 */
#include "transport/conn_session.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

#define RATE_WINDOW_MS 10000

static bool too_often(struct rate *rate, unsigned limit)
{
	int64_t now = now_ms();

	if (now - rate->since > RATE_WINDOW_MS)
		*rate = (struct rate){.since = now};
	return ++rate->count > limit;
}

static void calm(struct conn *conn)
{
	nghttp2_session_terminate_session(conn->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

void conn_fail(struct conn *conn, const char *problem)
{
	if (!conn->problem)
		conn->problem = problem;
}

void conn_leave(struct conn *conn)
{
	if (conn->left)
		return;
	conn->left = true;
	conn->role->leaving(conn);
}

void conn_say_goodbye(struct conn *conn)
{
	conn->deadlines[DEADLINE_GOAWAY] = NO_DEADLINE;
	nghttp2_submit_goaway(conn->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(conn->session),
			      NGHTTP2_NO_ERROR, NULL, 0);
}

/* Streams */

static struct stream *find(struct conn *conn, int32_t id)
{
	return nghttp2_session_get_stream_user_data(conn->session, id);
}

static void add_stream(struct conn *conn, struct stream *stream, int32_t id)
{
	stream->conn = conn;
	stream->id = id;
	stream->next = conn->streams;
	if (stream->next)
		stream->next->previous = stream;
	conn->streams = stream;
}

void conn_close_stream(struct stream *stream, uint32_t http2_error)
{
	struct conn *conn = stream->conn;

	if (stream->next)
		stream->next->previous = stream->previous;
	if (stream->previous)
		stream->previous->next = stream->next;
	else
		conn->streams = stream->next;
	conn->role->closed(stream, http2_error);
}

void conn_reset(struct stream *stream, uint32_t http2_error)
{
	stream->done = true;
	nghttp2_submit_rst_stream(stream->conn->session, NGHTTP2_FLAG_NONE, stream->id,
				  http2_error);
}

nghttp2_nv conn_field(const char *name, const char *value)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
			    .namelen = strlen(name),
			    .value = (uint8_t *)(uintptr_t)value,
			    .valuelen = strlen(value)};
}

static ssize_t read_message(nghttp2_session *session, int32_t id, uint8_t *bytes, size_t n,
			    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct stream *stream = source->ptr;

	(void)arg;
	if (n > stream->out_size)
		n = stream->out_size;
	memcpy(bytes, stream->out, n);
	stream->out += n;
	stream->out_size -= n;
	if (stream->out_size > 0)
		return (ssize_t)n;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (stream->trailers) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		nghttp2_submit_trailer(session, id, stream->trailers, stream->n_trailers);
	}
	return (ssize_t)n;
}

static nghttp2_data_provider provider(struct stream *stream, const uint8_t *message, size_t size)
{
	stream->out = message;
	stream->out_size = size;
	return (nghttp2_data_provider){.source.ptr = stream, .read_callback = read_message};
}

int conn_request(struct conn *conn, struct stream *stream, const nghttp2_nv *fields, size_t n,
		 const uint8_t *message, size_t size)
{
	nghttp2_data_provider data = provider(stream, message, size);

	if (conn->left)
		return -1;
	head_init(&stream->head);
	int32_t id = nghttp2_submit_request(conn->session, NULL, fields, n, &data, stream);
	if (id < 0) {
		/* out of stream ids: another connection has them all again */
		conn_leave(conn);
		return -1;
	}
	add_stream(conn, stream, id);
	return 0;
}

void conn_respond(struct stream *stream, const nghttp2_nv *fields, size_t n, const uint8_t *message,
		  size_t size, const nghttp2_nv *trailers, size_t n_trailers)
{
	nghttp2_data_provider data = provider(stream, message, size);

	stream->done = true;
	stream->trailers = trailers;
	stream->n_trailers = n_trailers;
	nghttp2_submit_response(stream->conn->session, stream->id, fields, n,
				message ? &data : NULL);
}

/* What nghttp2 reports */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct conn *conn = arg;
	int32_t id = frame->hd.stream_id;
	struct stream *stream = find(conn, id);

	if (stream && stream->headed)
		head_begin_trailers(&stream->head);
	if (stream || frame->hd.type != NGHTTP2_HEADERS ||
	    frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	stream = conn->left ? NULL : conn->role->open(conn);
	if (!stream) {
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
		return 0;
	}
	head_init(&stream->head);
	add_stream(conn, stream, id);
	nghttp2_session_set_stream_user_data(session, id, stream);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
		     void *arg)
{
	struct conn *conn = arg;
	struct stream *stream = find(conn, frame->hd.stream_id);

	(void)session;
	(void)flags;
	conn->payload += name_size + value_size;
	if (!stream || stream->done)
		return 0;
	/* Too large: the rest is decoded, to keep HPACK's state in step, and dropped. Failing here
	 * would have nghttp2 reset the stream, and the answer that says why would not go out. */
	if (head_field(&stream->head, name, name_size, value, value_size,
		       conn->limits->header_list) < 0) {
		conn->role->headed(stream);
		stream->done = true;
	}
	return 0;
}

static void on_end_stream(struct stream *stream)
{
	struct conn *conn = stream->conn;
	int64_t promised = stream->head.content_length;

	if (promised >= 0 && (uint64_t)promised != stream->received) {
		conn_reset(stream, NGHTTP2_PROTOCOL_ERROR);
		return;
	}
	conn->role->ended(stream);
	/* The answer came before all of the request went: the rest need not be sent. */
	if (!conn->role->is_server &&
	    nghttp2_session_get_stream_local_close(conn->session, stream->id) == 0)
		conn_reset(stream, NGHTTP2_NO_ERROR);
}

static void on_headers(struct stream *stream, bool end_stream)
{
	bool interim = !stream->conn->role->is_server && !stream->headed &&
		       stream->head.http_status / 100 == 1;

	if (stream->head.malformed || (stream->headed && !end_stream) || (interim && end_stream)) {
		conn_reset(stream, NGHTTP2_PROTOCOL_ERROR);
	} else if (interim) {
		head_init(&stream->head);
	} else if (!stream->headed) {
		stream->headed = true;
		stream->conn->role->headed(stream);
	}
}

static void on_ping(struct conn *conn, bool ack)
{
	if (!ack && too_often(&conn->pings, conn->limits->pings))
		calm(conn);
	if (ack && conn->deadlines[DEADLINE_GOAWAY] != NO_DEADLINE)
		conn_say_goodbye(conn);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct conn *conn = arg;
	struct stream *stream = find(conn, frame->hd.stream_id);
	bool ack = frame->hd.flags & NGHTTP2_FLAG_ACK;
	bool end_stream = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	(void)session;
	switch (frame->hd.type) {
	case NGHTTP2_SETTINGS:
		conn->deadlines[ack ? DEADLINE_SETTINGS : DEADLINE_HANDSHAKE] = NO_DEADLINE;
		return 0;
	case NGHTTP2_PING:
		on_ping(conn, ack);
		return 0;
	case NGHTTP2_GOAWAY:
		conn_leave(conn);
		return 0;
	case NGHTTP2_HEADERS:
		if (stream && !stream->done)
			on_headers(stream, end_stream);
		break;
	case NGHTTP2_DATA:
		break;
	default:
		return 0;
	}
	if (stream && !stream->done && end_stream)
		on_end_stream(stream);
	return 0;
}

/* The window opens again at once: what a message may hold is bounded by its own limit. */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
		   size_t n, void *arg)
{
	struct conn *conn = arg;
	struct stream *stream = find(conn, id);

	(void)flags;
	conn->payload += n;
	nghttp2_session_consume(session, id, n);
	if (!stream || stream->done)
		return 0;
	stream->received += n;
	conn->role->data(stream, bytes, n);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t http2_error, void *arg)
{
	struct stream *stream = find(arg, id);

	(void)session;
	if (stream)
		conn_close_stream(stream, http2_error);
	return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct conn *conn = arg;
	int32_t id = frame->hd.stream_id;
	uint32_t error = frame->hd.type == NGHTTP2_RST_STREAM ? frame->rst_stream.error_code : 0;
	bool provoked = error != NGHTTP2_NO_ERROR && error != NGHTTP2_CANCEL &&
			error != NGHTTP2_REFUSED_STREAM;

	if (provoked && too_often(&conn->resets_sent, conn->limits->resets_sent))
		calm(conn);
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	conn->pings.count = 0;
	/* An answer before the request's end: the rest need not be sent (RFC 9113 8.1). */
	if (conn->role->is_server && frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
	    nghttp2_session_get_stream_remote_close(session, id) == 0)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
	return 0;
}

void conn_feed(struct conn *conn, const uint8_t *bytes, size_t n)
{
	if (!nghttp2_session_want_read(conn->session))
		return;
	ssize_t taken = nghttp2_session_mem_recv(conn->session, bytes, n);
	if (taken < 0)
		conn_fail(conn, nghttp2_strerror((int)taken));
	int64_t now = now_ms();
	if (now - conn->counted_since > RATE_WINDOW_MS) {
		conn->counted_since = now;
		conn->received = conn->payload = 0;
	}
	conn->received += n;
	if (conn->received / 8 > conn->payload + conn->limits->overhead)
		calm(conn);
}

static nghttp2_option *options_new(const struct limits *limits)
{
	nghttp2_option *option;

	nghttp2_option_new(&option);
	nghttp2_option_set_no_http_messaging(option, 1);
	nghttp2_option_set_no_auto_window_update(option, 1);
	nghttp2_option_set_max_outbound_ack(option, limits->pending_acks);
	nghttp2_option_set_max_continuations(option, limits->continuations);
	nghttp2_option_set_stream_reset_rate_limit(option, limits->resets_received,
						   limits->resets_per_second);
	nghttp2_option_set_max_send_header_block_length(option, limits->header_list);
	nghttp2_option_set_peer_max_concurrent_streams(option, limits->streams);
	return option;
}

nghttp2_session *conn_session_new(struct conn *conn)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option = options_new(conn->limits);
	nghttp2_session *session;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
	if (conn->role->is_server)
		nghttp2_session_server_new2(&session, callbacks, conn, option);
	else
		nghttp2_session_client_new2(&session, callbacks, conn, option);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	return session;
}
