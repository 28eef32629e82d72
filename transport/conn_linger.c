/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The end of a connection: nothing more is written, and bytes that still arrive are discarded until
 * the peer closes its side, for linger_ms at most.
 *
 * Reason: closing a socket with unread bytes makes the kernel send a TCP reset, and the peer may
 * then lose bytes that it has not read yet. Among them is our GOAWAY, which states the calls that
 * the peer may safely repeat.
 */
#include "transport/conn_linger.h"

#include <errno.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "transport/conn_inside.h"
#include "transport/conn_socket.h"

void conn_linger(struct conn *conn)
{
	conn_last_words(conn);
	conn->hung_up = true;
	conn->received = 0;
	conn->deadlines[DEADLINE_LINGER] = now_ms() + conn->limits->linger_ms;
	conn->over = shutdown(conn->fd, SHUT_WR) < 0;
}

bool conn_lingers(const struct conn *conn)
{
	return conn->deadlines[DEADLINE_LINGER] != NO_DEADLINE;
}

void conn_discard(struct conn *conn)
{
	ssize_t n = recv(conn->fd, loop_buffers(conn->loop)->raw, LOOP_BUFFER, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		conn->received += (size_t)n;
		conn->bytes_in += (size_t)n;
	}
	/* The peer may have had one connection window of bytes in flight, but not more. */
	conn->over = n <= 0 || conn->received > conn->limits->connection_window;
}
