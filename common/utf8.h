/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_UTF8_H
#define ZCSI_UTF8_H

#include <stddef.h>

#define UTF8_MAX 4 /* largest number of bytes in a sequence */

/*
 * Returns the length of the UTF-8 sequence at bytes, of which at most n can be read. n is at least
 * 1. Returns 0 if the sequence is invalid, incomplete, or a NUL.
 */
size_t utf8_sequence(const void *bytes, size_t n);

#endif
