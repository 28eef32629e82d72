/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The bytes of a connection: socket -> shared buffer -> nghttp2, and nghttp2 -> shared buffer ->
 * socket. TLS, if any, lies between the buffer and the socket in both directions.
 *
 * Invariant: nghttp2 is asked for more output only after the socket accepted all of its previous
 * output, so a peer that does not read ties up one buffer at most.
 */
#include "transport/conn_socket.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/conn_budget.h"
#include "transport/conn_inside.h"

/* Bytes of the largest request that may contain a secret. */
#define CALL_MAX ((size_t)8192)

/*
 * Erase n bytes of a shared buffer, which keeps its contents until its next use: they may contain
 * the secrets of a call. More than CALL_MAX bytes are the bulk data of a stream and are left.
 */
static void wipe(uint8_t *bytes, size_t n)
{
	if (n <= CALL_MAX)
		explicit_bzero(bytes, n);
}

/* Reading */

/* A server that speaks TLS answers plain text with an alert record (RFC 8446, 6). */
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

/*
 * Returns the number of bytes written, 0 when the socket is full, or -1 when it will never accept
 * more.
 */
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
	/* The peer closed its side. Its last bytes may give the reason and can still be read. */
	if (errno == EPIPE || errno == ECONNRESET)
		conn->hung_up = true;
	else
		conn_fail(conn, strerrordesc_np(errno));
	return -1;
}

/* Write the outbox to the socket. Returns true when the outbox is empty afterwards. */
static bool write_out(struct conn *conn)
{
	size_t waiting = outbox_waiting(&conn->out);
	ssize_t n = waiting ? write_some(conn, conn->out.bytes + conn->out.at, waiting) : 0;

	if (n > 0)
		conn->out.at += (size_t)n;
	return n == (ssize_t)waiting;
}

/*
 * Fill the shared buffer with output of nghttp2; conn->chunk holds the part that does not fit.
 * Returns the number of bytes in the buffer.
 */
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
 * Write n bytes to the socket, and queue those it does not accept in the outbox. Returns true when
 * all were written.
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

/*
 * Write until nghttp2 has no more output, the socket is full, or limits->written bytes were
 * written, so that other connections get their turn. Returns true in the first case.
 */
static bool write_all(struct conn *conn)
{
	uint8_t *bytes = loop_buffers(conn->loop)->raw;
	size_t total = 0, n = 1;

	while (total < conn->limits->written && (n = gather(conn, bytes)) > 0) {
		bool complete = write_chunk(conn, bytes, n);
		wipe(bytes, n);
		if (!complete)
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
		done = write_all(conn);
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
