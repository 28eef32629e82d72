/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TRANSPORT_METRICS_H
#define ZCSI_TRANSPORT_METRICS_H

/*
 * Counters of the transport: a function for each event, and metrics_write, which writes them all.
 * Any thread.
 */

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* Count a call that ended after us microseconds. */
void metrics_call(const char *service, const char *method, enum error_code code, int64_t us);
/* Count a request that was refused: malformed, unknown method, or caller without permission. */
void metrics_refused(enum error_code code);
/* Count a call's wait for a worker, in microseconds from submission to start. */
void metrics_queue_wait(int64_t us);
/* Count the part of a call's wait for a worker that it spent behind calls with the same key. */
void metrics_key_wait(int64_t us);

/* Count a connection accepted at an endpoint. */
void metrics_accepted(const char *endpoint);
/* Count the end of an accepted connection. reason is a word of conn_outcome. */
void metrics_closed(const char *endpoint, const char *reason);
/* Count a client's attempt to connect. */
void metrics_dialed(const char *endpoint);
/* Count a client's failed attempt to connect. */
void metrics_dial_failed(const char *endpoint);

/* Write all counters in the format of Prometheus. */
void metrics_write(FILE *out);

#endif
