/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_TEXT_H
#define ZCSI_CONTROLLER_TEXT_H

/*
 * CSI's rules for texts: presence, size, and which code points a name may have. That they are
 * UTF-8 the transport has checked. All fail with ERR_INVALID_ARGUMENT and name the field.
 */

#include "common/error.h"

#define TEXT_SIZE_MAX 128 /* bytes (spec.md, Size Limits) */

int field_check_present(const char *field, const char *text, struct error *err);
int field_check_size(const char *field, const char *text, struct error *err);
/* A name that a CO makes up: present, within the size, no control characters. */
int field_check_name(const char *field, const char *text, struct error *err);

#endif
