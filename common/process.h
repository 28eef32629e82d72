/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_PROCESS_H
#define ZCSI_PROCESS_H

#include <stdio.h>
#include <time.h>

/*
 * What the kernel says of this process, under the names that every program uses for it, and which
 * version it is. started: when, in seconds since 1970.
 */
void process_metrics(FILE *out, time_t started);

#endif
