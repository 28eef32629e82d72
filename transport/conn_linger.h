/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_LINGER_H
#define ZCSI_CONN_LINGER_H

/* A connection after its last write, until the peer closes it (limits.h: linger_ms). */

#include "transport/conn.h"

/* Shut down writing and start to linger. Sets conn->over when the shutdown fails. Frees nothing. */
void conn_linger(struct conn *conn);
/* True once conn_linger was called. */
bool conn_lingers(const struct conn *conn);
/*
 * Read and discard received bytes, in place of conn_receive while the connection lingers. Sets
 * conn->over when the peer has closed, the read fails, or more bytes came than a window allows.
 */
void conn_discard(struct conn *conn);

#endif
