/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_JSON_H
#define ZCSI_CLI_JSON_H

#include <stdio.h>

/* Print a text as a string of JSON. Bytes that are not UTF-8 become U+FFFD. */
void json_text(FILE *out, const char *text);

#endif
