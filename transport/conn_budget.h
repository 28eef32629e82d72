/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_BUDGET_H
#define ZCSI_CONN_BUDGET_H

/*
 * The rates that a peer may not exceed. A peer that exceeds one is sent GOAWAY with
 * ENHANCE_YOUR_CALM, which ends the connection. Loop thread only.
 */

#include "transport/conn.h"
#include "transport/rate.h"

/* Count n bytes read from the socket, and check them against the payload they carried. */
void conn_weigh(struct conn *conn, size_t n);
/* Count one event in rate; the peer may cause `most` of them per period (limits.h: rate_ms). */
void conn_count(struct conn *conn, struct rate *rate, unsigned most);

#endif
