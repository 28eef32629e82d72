/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The bytes of a connection: socket -> shared buffer -> nghttp2, and nghttp2 -> shared buffer ->
 * socket. TLS, if any, lies between the buffer and the socket in both directions; it encrypts large
 * frames without a copy in the buffer.
 *
 * Invariant: nghttp2 is asked for another LOOP_BUFFER bytes of output only after the socket
 * accepted all of the previous ones, so a peer that does not read ties up LOOP_BUFFER bytes and one
 * frame at most.
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

/* Make conn->chunk the next output of nghttp2. Returns false if there is none. */
static bool next_chunk(struct conn *conn)
{
	if (conn->chunk_size > 0)
		return true;
	ssize_t size = nghttp2_session_mem_send(conn->session, &conn->chunk);
	if (size < 0)
		conn_fail(conn, nghttp2_strerror((int)size));
	conn->chunk_size = size > 0 ? (size_t)size : 0;
	return size > 0;
}

/* True if conn->chunk is a frame that fills TLS records by itself. */
static bool fills_records(const struct conn *conn)
{
	return conn->tls && conn->chunk_size >= SSL3_RT_MAX_PLAIN_LENGTH;
}

/*
 * Copy up to size bytes of nghttp2's output, until the next frame that fills records; conn->chunk
 * holds the part that does not fit. Returns the number of bytes copied.
 */
static size_t gather(struct conn *conn, uint8_t *bytes, size_t size)
{
	size_t n = 0;

	while (n < size && next_chunk(conn) && !fills_records(conn)) {
		size_t take = conn->chunk_size < size - n ? conn->chunk_size : size - n;
		memcpy(bytes + n, conn->chunk, take);
		n += take;
		conn->chunk += take;
		conn->chunk_size -= take;
	}
	return n;
}

/* Write n bytes to the socket, and queue those it does not accept. True: all were written. */
static bool write_plain(struct conn *conn, const uint8_t *bytes, size_t n)
{
	ssize_t written = write_some(conn, bytes, n);

	if (written >= 0 && written < (ssize_t)n)
		outbox_add(&conn->out, bytes + written, n - (size_t)written);
	return written == (ssize_t)n;
}

static void encrypt(struct conn *conn, const uint8_t *bytes, size_t n)
{
	struct error err;

	if (tls_session_write(conn->tls, bytes, n, &err) < 0)
		conn_fail(conn, err.text);
}

/*
 * Encrypt output of nghttp2 into the outbox: LOOP_BUFFER bytes or, with the last frame, a little
 * more. A frame that fills records is encrypted where it is, which saves a copy. Returns the number
 * of bytes before encryption.
 */
static size_t encrypt_some(struct conn *conn, uint8_t *bytes)
{
	size_t total = 0, n;

	while (total < LOOP_BUFFER && !conn->over && next_chunk(conn)) {
		if (fills_records(conn)) {
			n = conn->chunk_size;
			encrypt(conn, conn->chunk, n);
			conn->chunk_size = 0;
		} else {
			n = gather(conn, bytes, LOOP_BUFFER - total);
			encrypt(conn, bytes, n);
			wipe(bytes, n);
		}
		total += n;
	}
	return total;
}

/* Write up to about LOOP_BUFFER bytes. Returns their number; *ret_full: the socket is full. */
static size_t write_next(struct conn *conn, bool *ret_full)
{
	uint8_t *bytes = loop_buffers(conn->loop)->raw;
	size_t n;

	if (conn->tls) {
		n = encrypt_some(conn, bytes);
		*ret_full = !write_out(conn);
	} else {
		n = gather(conn, bytes, LOOP_BUFFER);
		*ret_full = n > 0 && !write_plain(conn, bytes, n);
		wipe(bytes, n);
	}
	return n;
}

/*
 * Write until nghttp2 has no more output, the socket is full, or limits->written bytes were
 * written, so that other connections get their turn. Returns true in the first case.
 */
static bool write_all(struct conn *conn)
{
	bool full = false;
	size_t total = 0, n = 1;

	while (total < conn->limits->written && n > 0 && !full) {
		n = write_next(conn, &full);
		total += n;
	}
	return n == 0 && !full;
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
