/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_RECORD_PROPERTY_H
#define ZCSI_NODE_RECORD_PROPERTY_H

/* The ZFS properties that CreateDataset and ModifyDataset may set. Any thread. */

#include <stddef.h>

#include "common/error.h"
#include "proto/agent.h"

/*
 * Check one property of a request: its name must be in the table of property.c, or be a user
 * property without the prefix zcsi:, and its value must be valid. Returns 0, or -1 with
 * ERR_INVALID_ARGUMENT.
 */
int property_check(const Property *property, struct error *err);
/* Returns the name of the native property with this number, counted from 0; NULL after the last. */
const char *property_native(size_t number);

#endif
