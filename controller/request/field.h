/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_FIELD_H
#define ZCSI_CONTROLLER_FIELD_H

/*
 * CSI's rules for the text fields of requests. The transport has checked that they are UTF-8. Each
 * function returns 0, or -1 with ERR_INVALID_ARGUMENT, which names the field.
 */

#include "common/error.h"

#define TEXT_SIZE_MAX 128 /* bytes (spec.md, Size Limits) */

/* Check that the text is not empty. */
int field_check_present(const char *field, const char *text, struct error *err);
/* Check that the text has at most TEXT_SIZE_MAX bytes. */
int field_check_size(const char *field, const char *text, struct error *err);
/* Check a name that the orchestrator chose: present, within the size, no control characters. */
int field_check_name(const char *field, const char *text, struct error *err);

#endif
