/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_PROPERTY_H
#define ZCSI_NODE_RECORD_PROPERTY_H

/* Properties that a CreateDataset or ModifyDataset request may set. */

#include <stddef.h>

#include "common/error.h"
#include "proto/agent.h"

/* A property that a volume may have, and nothing of ours or the host's but what CSI asks for. */
int property_check(const Property *property, struct error *err);
/* The native ones of these, by number; NULL after the last. */
const char *property_native(size_t number);

#endif
