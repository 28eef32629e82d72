/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONN_LINGER_H
#define ZCSI_CONN_LINGER_H

/* A connection that has said all, until it is over (limits.h: linger_ms). */

#include "transport/conn.h"

/* From now on. What is over at once, or here later, is for the connection to free. */
void conn_linger(struct conn *conn);
bool conn_lingers(const struct conn *conn);
/* Instead of conn_receive. */
void conn_discard(struct conn *conn);

#endif
