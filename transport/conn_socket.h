/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_SOCKET_H
#define ZCSI_CONN_SOCKET_H

/* The socket side of a connection: reading, writing, TLS. Loop thread only; frees no connection. */

#include "transport/conn.h"

/* Read from the socket, decrypt, and pass the bytes to nghttp2. Errors end the connection. */
void conn_receive(struct conn *conn);
/* Write nghttp2's output to the socket, and watch for writability when some is left. */
void conn_flush(struct conn *conn);
/* Write the TLS close_notify and the queued bytes, in one attempt, before the socket is closed. */
void conn_last_words(struct conn *conn);

#endif
