/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_STATS_H
#define ZCSI_CONN_STATS_H

/* Facts about a connection for metrics and the log. Loop thread only. */

#include "transport/conn.h"
#include "transport/endpoint.h"

/*
 * How it ends, in one word: "done"; "peer", which closed it or was lost; "timeout"; "refused", for
 * it broke the rules; "handshake", before it ever spoke HTTP/2.
 */
const char *conn_outcome(const struct conn *conn);
/* Add the bytes that came and went to two sums. */
void conn_traffic(const struct conn *conn, uint64_t *received, uint64_t *sent);
/* As address_text; empty too when it is not known any more. */
void conn_peer_address(const struct conn *conn, char ret_text[ADDRESS_TEXT_SIZE]);

#endif
