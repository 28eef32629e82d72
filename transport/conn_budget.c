/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The rates of a connection: PINGs, provoked resets, TLS key updates, and the bytes of frames that
 * cost more than they carry.
 *
 * Invariant: an honest peer stays below every rate; limits.h has the numbers.
 */
#include "transport/conn_budget.h"

#include "transport/conn_inside.h"

static void send_goaway_calm(struct conn *conn)
{
	nghttp2_session_terminate_session(conn->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

void conn_count(struct conn *conn, struct rate *rate, unsigned most)
{
	if (rate_exceeds(rate, 1, most, conn->limits->rate_ms))
		send_goaway_calm(conn);
}

static void check_tls(struct conn *conn)
{
	const struct limits *limits = conn->limits;

	if (!tls_session_ready(conn->tls) && conn->bytes_in > limits->handshake)
		conn_fail(conn, "too much before the TLS handshake was over");
	if (rate_exceeds(&conn->key_updates, tls_session_key_updates(conn->tls),
			 limits->key_updates, limits->rate_ms))
		conn_fail(conn, "it changes its TLS keys too often");
}

void conn_weigh(struct conn *conn, size_t n)
{
	int64_t now = loop_now_us(conn->loop) / 1000;

	if (now - conn->counted_since > conn->limits->rate_ms) {
		conn->counted_since = now;
		conn->received = conn->payload = 0;
	}
	conn->received += n;
	if (conn->received / 8 > conn->payload + conn->limits->overhead)
		send_goaway_calm(conn);
	if (conn->tls)
		check_tls(conn);
}
