/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_UTF8_H
#define ZCSI_UTF8_H

#include <stddef.h>

#define UTF8_MAX 4 /* bytes of a sequence */

/*
 * The length of the UTF-8 sequence that starts here, of n bytes at least one: 0 when it is none, is
 * cut off, or is a NUL.
 */
size_t utf8_sequence(const void *bytes, size_t n);

#endif
