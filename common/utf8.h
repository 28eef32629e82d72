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
/*
 * Returns the length of the control character at the start of a text: 1 for C0 and DEL, 2 for C1
 * (U+0080 to U+009F). Returns 0 for any other character and at the end of the text.
 */
size_t utf8_control(const char *text);

#endif
