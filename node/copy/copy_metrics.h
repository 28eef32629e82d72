/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_COPY_COPY_METRICS_H
#define ZCSI_NODE_COPY_COPY_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "node/copy/pusher.h"

/* Write the metrics of the copies on other nodes; pusher: NULL on a node without a pool. */
void copy_metrics_write(struct pusher *pusher, FILE *out);
/* Count a push that ended, and the bytes of a stream. Any thread. */
void copy_metrics_pushed(bool failed);
void copy_metrics_sent(uint64_t bytes);

#endif
