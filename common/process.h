/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PROCESS_H
#define ZCSI_PROCESS_H

#include <stdio.h>
#include <time.h>

/*
 * Write the metrics of this process that every program has under the same names, and its version.
 * started: seconds since 1970.
 */
void process_metrics(FILE *out, time_t started);

#endif
