/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_MOVE_MOVE_METRICS_H
#define ZCSI_NODE_MOVE_MOVE_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "node/move/mover.h"

/* Write the metrics of the moves away from this host; mover: NULL before it was started. */
void move_metrics_write(struct mover *mover, FILE *out);
/* Count a move that ended after so many microseconds. Any thread. */
void move_metrics_ended(bool failed, int64_t us);

#endif
