/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TRANSPORT_METRICS_H
#define ZCSI_TRANSPORT_METRICS_H

/*
 * Counters of the transport: a function for each event, and transport_metrics, which writes them
 * all. Any thread.
 */

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* Count a call that ended, or one that was refused: unknown methods, callers without permission. */
void metrics_call(const char *service, const char *method, enum error_code code, int64_t us);
void metrics_refused(enum error_code code);
/* A worker starts on a call: how long it has waited, and how much of that for its key. */
void metrics_queue_wait(int64_t us);
void metrics_key_wait(int64_t us);

/* A server's connection; reason is one of a few words. */
void metrics_accepted(const char *endpoint);
void metrics_closed(const char *endpoint, const char *reason);
/* A client's attempt to connect, and its failure. */
void metrics_dialed(const char *endpoint);
void metrics_dial_failed(const char *endpoint);

void metrics_write(FILE *out);

#endif
