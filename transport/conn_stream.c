/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The bytes of a connection's streams.
 *
 * nghttp2 takes as many bytes from a stream's queue as the windows allow, when the socket has room.
 * A stream whose queue is empty is deferred until conn_send or conn_end.
 *
 * Invariant: every byte passed to role->data is consumed once, at the latest when its stream is
 * closed, because bytes that one stream does not consume reduce the window of all streams.
 */
#include "transport/conn_stream.h"

#include <string.h>

#include "common/clock.h"
#include "transport/conn_inside.h"
#include "transport/list.h"

void conn_add_stream(struct conn *conn, struct stream *stream, int32_t id)
{
	stream->conn = conn;
	stream->id = id;
	list_push(conn->streams, stream);
	head_init(&stream->head);
}

void conn_close_stream(struct stream *stream, uint32_t http2_error)
{
	struct conn *conn = stream->conn;

	list_remove(stream);
	if (conn->found == stream)
		conn->found = NULL;
	if (stream->unused > 0)
		nghttp2_session_consume_connection(conn->session, stream->unused);
	stream->done = true;
	stream->resting = false;
	conn->role->closed(stream, http2_error);
}

nghttp2_nv conn_field(const char *name, const char *value)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
			    .namelen = strlen(name),
			    .value = (uint8_t *)(uintptr_t)value,
			    .valuelen = strlen(value)};
}

/* Sending */

/*
 * Copy up to n bytes of the queue. Calls role->emptied when the queue runs empty, before the stream
 * is deferred, so that the role can fill the queue again. Returns the number of bytes copied.
 */
static size_t copy_out(struct stream *stream, uint8_t *bytes, size_t n)
{
	size_t copied = chunks_take(&stream->out, bytes, n);

	if (!stream->out.first && !stream->ending) {
		stream->conn->role->emptied(stream);
		copied += chunks_take(&stream->out, bytes + copied, n - copied);
	}
	stream->moved |= copied > 0;
	return copied;
}

static ssize_t read_stream(nghttp2_session *session, int32_t id, uint8_t *bytes, size_t n,
			   uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct stream *stream = source->ptr;
	size_t copied = copy_out(stream, bytes, n);

	(void)arg;
	if (stream->out.first || (!stream->ending && copied > 0))
		return (ssize_t)copied;
	if (!stream->ending) {
		stream->resting = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (stream->trailers) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		nghttp2_submit_trailer(session, id, stream->trailers, stream->n_trailers);
	}
	return (ssize_t)copied;
}

static nghttp2_data_provider provider(struct stream *stream)
{
	return (nghttp2_data_provider){.source.ptr = stream, .read_callback = read_stream};
}

static void wake(struct stream *stream)
{
	if (stream->resting)
		nghttp2_session_resume_data(stream->conn->session, stream->id);
	stream->resting = false;
}

int conn_request(struct conn *conn, struct stream *stream, const nghttp2_nv *fields, size_t n)
{
	nghttp2_data_provider data = provider(stream);

	if (conn->left)
		return -1;
	int32_t id = nghttp2_submit_request(conn->session, NULL, fields, n, &data, stream);
	if (id < 0) {
		/* All stream ids are used. The client opens a new connection. */
		conn_send_goaway(conn);
		conn_leave(conn);
		return -1;
	}
	stream->n_reads = conn->n_reads;
	conn_add_stream(conn, stream, id);
	return 0;
}

bool conn_may_have_sent(const struct stream *stream)
{
	return stream->packed > 0 && stream->packed <= stream->conn->sent;
}

void conn_probe(const struct stream *stream)
{
	struct conn *conn = stream->conn;

	if (conn->n_reads != stream->n_reads || conn->deadlines[DEADLINE_PING] != NO_DEADLINE)
		return;
	conn->deadlines[DEADLINE_PING] = now_ms() + conn->limits->ping_ms;
	nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);
}

void conn_respond(struct stream *stream, const nghttp2_nv *fields, size_t n)
{
	nghttp2_data_provider data = provider(stream);

	nghttp2_submit_response(stream->conn->session, stream->id, fields, n, &data);
}

void conn_respond_only(struct stream *stream, const nghttp2_nv *fields, size_t n)
{
	stream->done = true;
	nghttp2_submit_response(stream->conn->session, stream->id, fields, n, NULL);
}

void conn_send(struct stream *stream, struct chunk *chunk)
{
	chunks_add(&stream->out, chunk);
	wake(stream);
}

void conn_end(struct stream *stream, const nghttp2_nv *trailers, size_t n)
{
	stream->ending = true;
	stream->trailers = trailers;
	stream->n_trailers = n;
	wake(stream);
}

void conn_reset(struct stream *stream, uint32_t http2_error)
{
	stream->done = true;
	nghttp2_submit_rst_stream(stream->conn->session, NGHTTP2_FLAG_NONE, stream->id,
				  http2_error);
}

/* Receiving */

void conn_widen(struct stream *stream, uint32_t window)
{
	struct conn *conn = stream->conn;

	if (!conn || conn->limits->stream_window >= window)
		return;
	nghttp2_session_set_local_window_size(conn->session, NGHTTP2_FLAG_NONE, stream->id,
					      (int32_t)window);
	conn_wake(conn);
}

void conn_consume(struct stream *stream, size_t n)
{
	stream->unused -= n;
	nghttp2_session_consume(stream->conn->session, stream->id, n);
}
