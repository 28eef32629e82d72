/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Facts about a connection for metrics and the log.
 *
 * Invariant: the outcome is one of a fixed set of words, independent of the problem text, so that
 * it can be the label of a metric.
 */
#include "transport/conn_stats.h"

#include <sys/socket.h>

#include "common/clock.h"
#include "transport/conn_inside.h"

const char *conn_outcome(const struct conn *conn)
{
	int64_t now = now_ms();

	if (!conn_was_ready(conn))
		return "handshake";
	if (conn->goaway_code)
		return "refused";
	for (unsigned i = 0; conn->problem && i < DEADLINES; i++)
		if (conn->deadlines[i] <= now)
			return "timeout";
	return conn->problem ? "peer" : "done";
}

void conn_traffic(const struct conn *conn, uint64_t *received, uint64_t *sent)
{
	*received += conn->bytes_in;
	*sent += conn->bytes_out;
}

void conn_peer_address(const struct conn *conn, char ret_text[ADDRESS_TEXT_SIZE])
{
	struct address address = {.size = sizeof(address.storage)};

	if (getpeername(conn->fd, (struct sockaddr *)&address.storage, &address.size) < 0)
		*ret_text = '\0';
	else
		address_text(&address, ret_text);
}
