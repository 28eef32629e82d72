/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_STATS_H
#define ZCSI_CONN_STATS_H

/* Facts about a connection for metrics and the log. Loop thread only. */

#include "transport/conn.h"
#include "transport/endpoint.h"

/*
 * Returns how the connection ended: "done" in order; "peer" if the peer closed it or an error
 * occurred; "timeout" if a time limit passed; "refused" if we sent GOAWAY with an error;
 * "handshake" if it ended before the peer's first SETTINGS.
 */
const char *conn_outcome(const struct conn *conn);
/* Add the bytes read from the socket to *received, and the bytes written to it to *sent. */
void conn_traffic(const struct conn *conn, uint64_t *received, uint64_t *sent);
/* Write the peer's address into ret_text, as address_text does; "" when the kernel has none. */
void conn_peer_address(const struct conn *conn, char ret_text[ADDRESS_TEXT_SIZE]);

#endif
