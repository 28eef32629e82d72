/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The nghttp2 session of a connection: its options, and its callbacks, which turn header fields,
 * data, frames and closed streams into calls of the role. conn_budget.c has the rates that a peer
 * may not exceed.
 *
 * Invariant: a callback always returns 0; nghttp2 1.52 leaks when on_stream_close fails
 * (CVE-2023-35945).
 */
#include "transport/conn_inside.h"

#include "common/mem.h"
#include "transport/conn_budget.h"
#include "transport/conn_stream.h"

#define FRAME_HEADER 9 /* bytes in front of the payload of a frame (RFC 9113, 4.1) */

void conn_fail(struct conn *conn, const char *problem)
{
	conn->over = true;
	if (!conn->problem)
		conn->problem = mem_strdup(problem);
}

void conn_leave(struct conn *conn)
{
	if (conn->left)
		return;
	conn->left = true;
	conn->role->leaving(conn);
}

void conn_send_goaway(struct conn *conn)
{
	conn->deadlines[DEADLINE_GOAWAY] = NO_DEADLINE;
	nghttp2_submit_goaway(conn->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(conn->session),
			      NGHTTP2_NO_ERROR, NULL, 0);
}

/* Streams */

static struct stream *find(struct conn *conn, int32_t id)
{
	if (!conn->found || conn->found->id != id)
		conn->found = nghttp2_session_get_stream_user_data(conn->session, id);
	return conn->found;
}

/* Callbacks of nghttp2 */

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
	conn_add_stream(conn, stream, id);
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
	/*
	 * The rest of a header list that is too large is decoded, because HPACK keeps state across
	 * lists, and dropped. An error from this callback would make nghttp2 reset the stream, so
	 * that the answer with the reason could not be sent.
	 */
	if (stream && !stream->done && !stream->head.too_large)
		head_field(&stream->head, name, name_size, value, value_size,
			   conn->limits->header_list);
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
	/* A server may answer before it has read the whole request: cancel sending the rest. */
	if (!conn->role->is_server &&
	    nghttp2_session_get_stream_local_close(conn->session, stream->id) == 0)
		conn_reset(stream, NGHTTP2_NO_ERROR);
}

static void on_headers(struct stream *stream, bool end_stream)
{
	bool interim = !stream->conn->role->is_server && !stream->headed &&
		       stream->head.http_status / 100 == 1;

	if (stream->head.too_large) {
		stream->conn->role->headed(stream);
	} else if (stream->head.malformed || (stream->headed && !end_stream) ||
		   (interim && end_stream)) {
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
	if (!ack)
		conn_count(conn, &conn->pings, conn->limits->pings);
	if (ack && conn->deadlines[DEADLINE_GOAWAY] != NO_DEADLINE)
		conn_send_goaway(conn);
}

static void on_settings(struct conn *conn, bool ack)
{
	bool first = !ack && !conn_was_ready(conn);

	conn->deadlines[ack ? DEADLINE_SETTINGS : DEADLINE_HANDSHAKE] = NO_DEADLINE;
	if (first && conn->role->ready)
		conn->role->ready(conn);
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
		on_settings(conn, ack);
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

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
		   size_t n, void *arg)
{
	struct conn *conn = arg;
	struct stream *stream = find(conn, id);

	(void)flags;
	conn->payload += n;
	if (!stream || stream->done) {
		nghttp2_session_consume(session, id, n);
		return 0;
	}
	stream->received += n;
	stream->unused += n;
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

static int before_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct conn *conn = arg;
	struct stream *stream = find(conn, frame->hd.stream_id);

	(void)session;
	if (stream && frame->hd.type == NGHTTP2_HEADERS && stream->packed == 0)
		stream->packed = ++conn->packed;
	return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct conn *conn = arg;
	int32_t id = frame->hd.stream_id;
	uint32_t error = frame->hd.type == NGHTTP2_RST_STREAM ? frame->rst_stream.error_code : 0;
	bool provoked = error != NGHTTP2_NO_ERROR && error != NGHTTP2_CANCEL &&
			error != NGHTTP2_REFUSED_STREAM;

	if (provoked)
		conn_count(conn, &conn->resets_sent, conn->limits->resets_sent);
	if (frame->hd.type == NGHTTP2_GOAWAY)
		conn->goaway_code = frame->goaway.error_code;
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	conn->pings.count = 0;
	/*
	 * RFC 9113, 8.1: a server that answers before the end of the request resets the stream
	 * with NO_ERROR, so that the client need not send the rest.
	 */
	if (conn->role->is_server && frame->hd.flags & NGHTTP2_FLAG_END_STREAM &&
	    nghttp2_session_get_stream_remote_close(session, id) == 0)
		nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
	return 0;
}

static ssize_t frame_length(nghttp2_session *session, uint8_t type, int32_t id,
			    int32_t connection_window, int32_t stream_window, uint32_t peer_max,
			    void *arg)
{
	struct conn *conn = arg;

	(void)session;
	(void)type;
	(void)id;
	(void)connection_window;
	(void)stream_window;
	/*
	 * nghttp2 cuts the returned length to the windows. With TLS, a frame and its header fill
	 * whole records.
	 */
	uint32_t most = peer_max < conn->limits->frame ? peer_max : conn->limits->frame;
	return most - (conn->tls ? FRAME_HEADER : 0);
}

void conn_feed(struct conn *conn, const uint8_t *bytes, size_t n)
{
	if (!nghttp2_session_want_read(conn->session))
		return;
	ssize_t taken = nghttp2_session_mem_recv(conn->session, bytes, n);
	if (taken < 0)
		conn_fail(conn, nghttp2_strerror((int)taken));
	conn->n_reads++;
	conn->deadlines[DEADLINE_PING] = NO_DEADLINE;
}

static nghttp2_option *options_new(const struct limits *limits)
{
	nghttp2_option *option;

	if (nghttp2_option_new(&option) != 0)
		return NULL;
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

static nghttp2_session_callbacks *callbacks_new(const struct conn_role *role)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	/* before_frame_send numbers requests for conn_may_have_sent; a server sends no requests. */
	if (!role->is_server)
		nghttp2_session_callbacks_set_before_frame_send_callback(callbacks,
									 before_frame_send);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
	nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, frame_length);
	return callbacks;
}

nghttp2_session *conn_session_new(struct conn *conn)
{
	nghttp2_session_callbacks *callbacks = callbacks_new(conn->role);
	nghttp2_option *option = options_new(conn->limits);
	nghttp2_mem memory = conn_memory(conn);
	nghttp2_session *session = NULL;

	if (callbacks && option && conn->role->is_server)
		nghttp2_session_server_new3(&session, callbacks, conn, option, &memory);
	else if (callbacks && option)
		nghttp2_session_client_new3(&session, callbacks, conn, option, &memory);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(option);
	return session;
}
