/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PROCESS_H
#define ZCSI_PROCESS_H

#include <stdio.h>
#include <time.h>

/*
 * Write the standard metrics process_* of Prometheus for this process, and its version. started is
 * the time of its start in seconds since 1970.
 */
void process_metrics(FILE *out, time_t started);

#endif
