/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PUMP_INSIDE_H
#define ZCSI_PUMP_INSIDE_H

/* A pump as the exchange of its stream sees it. A NULL pump takes nothing and ends nothing. */

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct pump;

/* Give the pump the bytes of a message that came. */
void pump_take(struct pump *pump, const uint8_t *bytes, size_t n);
/* End the pump: nothing more comes, or nothing more can be sent. */
void pump_end(struct pump *pump, const struct error *outcome);

#endif
