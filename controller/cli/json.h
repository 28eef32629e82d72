/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_JSON_H
#define ZCSI_CLI_JSON_H

/* The output of -o json: one object (RFC 8259) in UTF-8, whose members never change their meaning
 * while "version" is 1. Members may be added. */

#include <stdio.h>

#include "controller/cli/table.h"

/*
 * Print a table as {"version": 1, NAME: [{COLUMN: VALUE, ...}, ...], "silent": [...]}, or with one
 * object in place of the list for a record. Amounts are in bytes, moments in seconds since 1970;
 * nothing is null.
 */
void json_table(FILE *out, const struct table *table, const struct silence *silences,
		size_t n_silences);

#endif
