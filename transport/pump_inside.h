/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PUMP_INSIDE_H
#define ZCSI_PUMP_INSIDE_H

/* The functions of a pump for the exchange of its stream. Loop thread only. */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct pump;

/* Write a received message of n bytes; pauses the stream if the descriptor is full. */
void pump_take(struct pump *pump, const uint8_t *bytes, size_t n);
/* End the pump with an outcome and free it. Does nothing for NULL. */
void pump_end(struct pump *pump, const struct error *outcome);

#endif
