/* SPDX-License-Identifier: MPL-2.0 */
/*
 * A connection's bytes: socket -> shared buffer -> nghttp2, nghttp2 -> shared buffer -> socket.
 * Where there is TLS it is between the buffer and the socket, both ways.
 *
 * Invariant: nghttp2 is asked for more only when the socket took all that it gave before, so a peer
 * that does not read holds one buffer and no more.
 */
#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/conn_inside.h"

#define CALL_MAX ((size_t)8192)

/*
 * The shared buffers stay as they are until the next use, and a call may bring a secret. What is
 * larger than one is a stream's.
 */
static void wipe(uint8_t *bytes, size_t n)
{
	if (n <= CALL_MAX)
		explicit_bzero(bytes, n);
}

/* Reading */

/* A server that speaks TLS says so, as it can: by an alert (RFC 8446 6). */
static bool is_tls_alert(const struct conn *conn, const uint8_t *bytes, size_t n)
{
	return !conn->tls && !conn_was_ready(conn) && n > 1 && bytes[0] == 21 && bytes[1] == 3;
}

static void open_records(struct conn *conn, const uint8_t *bytes, size_t n)
{
	struct loop_buffers *buffers = loop_buffers(conn->loop);
	struct error err;
	ssize_t size = 0;

	tls_session_take(conn->tls, bytes, n);
	while (!conn->over && (size = tls_session_read(conn->tls, buffers->opened,
						       sizeof(buffers->opened), &err)) > 0) {
		conn_feed(conn, buffers->opened, (size_t)size);
		wipe(buffers->opened, (size_t)size);
	}
	if (size < 0)
		conn_fail(conn, err.text);
}

static void received(struct conn *conn, uint8_t *bytes, size_t n)
{
	conn->bytes_in += n;
	if (conn->tls)
		open_records(conn, bytes, n);
	else if (is_tls_alert(conn, bytes, n))
		conn_fail(conn, "it speaks TLS: give --tls-ca, --tls-cert and --tls-key");
	else
		conn_feed(conn, bytes, n);
	wipe(bytes, n);
	conn_weigh(conn, n);
}

static void ended(struct conn *conn)
{
	conn_fail(conn, conn->tls ? tls_session_eof(conn->tls) : "closed by the peer");
}

void conn_receive(struct conn *conn)
{
	uint8_t *bytes = loop_buffers(conn->loop)->raw;

	for (unsigned i = 0; i < conn->limits->reads && !conn->over; i++) {
		ssize_t n = recv(conn->fd, bytes, LOOP_BUFFER, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0)
			received(conn, bytes, (size_t)n);
		else if (n == 0)
			ended(conn);
		else
			conn_fail(conn, strerrordesc_np(errno));
		if (n < (ssize_t)LOOP_BUFFER)
			return;
	}
}

/* Writing */

/* How many bytes went; -1 when it takes no more, ever. */
static ssize_t write_some(struct conn *conn, const uint8_t *bytes, size_t n)
{
	ssize_t written = send(conn->fd, bytes, n, MSG_NOSIGNAL);

	if (written >= 0) {
		conn->progress |= written > 0;
		conn->sent = conn->packed;
		conn->bytes_out += (size_t)written;
		return written;
	}
	if (errno == EAGAIN || errno == EINTR)
		return 0;
	/* why it left may still be there to be read, and if not, that it did */
	if (errno == EPIPE || errno == ECONNRESET)
		conn->hung_up = true;
	else
		conn_fail(conn, strerrordesc_np(errno));
	return -1;
}

/* Is all of it gone? */
static bool write_out(struct conn *conn)
{
	size_t waiting = outbox_waiting(&conn->out);
	ssize_t n = waiting ? write_some(conn, conn->out.bytes + conn->out.at, waiting) : 0;

	if (n > 0)
		conn->out.at += (size_t)n;
	return n == (ssize_t)waiting;
}

/* Fill the shared buffer from nghttp2; a chunk that does not fit waits in conn->chunk. */
static size_t gather(struct conn *conn, uint8_t *bytes)
{
	size_t n = 0;

	for (;;) {
		if (conn->chunk_size == 0) {
			ssize_t size = nghttp2_session_mem_send(conn->session, &conn->chunk);
			if (size < 0)
				conn_fail(conn, nghttp2_strerror((int)size));
			if (size <= 0)
				return n;
			conn->chunk_size = (size_t)size;
		}
		size_t take = conn->chunk_size;
		if (take > LOOP_BUFFER - n)
			take = LOOP_BUFFER - n;
		if (take == 0)
			return n;
		memcpy(bytes + n, conn->chunk, take);
		n += take;
		conn->chunk += take;
		conn->chunk_size -= take;
	}
}

/*
 * Write the gathered bytes to the socket, and queue the rest in the outbox. Returns true when all
 * were written.
 */
static bool write_chunk(struct conn *conn, const uint8_t *bytes, size_t n)
{
	struct error err;

	if (conn->tls) {
		if (tls_session_write(conn->tls, bytes, n, &err) < 0)
			conn_fail(conn, err.text);
		return write_out(conn);
	}
	ssize_t written = write_some(conn, bytes, n);
	if (written == (ssize_t)n)
		return true;
	if (written >= 0)
		outbox_add(&conn->out, bytes + written, n - (size_t)written);
	return false;
}

/* Until there is nothing left, or the socket takes no more, or others have waited long enough. */
static bool put_all(struct conn *conn)
{
	uint8_t *bytes = loop_buffers(conn->loop)->raw;
	size_t total = 0, n = 1;

	while (total < conn->limits->written && (n = gather(conn, bytes)) > 0) {
		bool gone = write_chunk(conn, bytes, n);
		wipe(bytes, n);
		if (!gone)
			return false;
		total += n;
	}
	return n == 0;
}

void conn_flush(struct conn *conn)
{
	if (conn->connecting || conn->hung_up || conn->over)
		return;
	bool done = write_out(conn);
	if (done && (!conn->tls || tls_session_ready(conn->tls)))
		done = put_all(conn);
	if (outbox_waiting(&conn->out) == 0)
		outbox_fini(&conn->out);
	if (!done)
		event_add(conn->writable, NULL);
}

void conn_last_words(struct conn *conn)
{
	if (conn->connecting || conn->hung_up)
		return;
	if (conn->tls)
		tls_session_end(conn->tls);
	write_out(conn);
}
