/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_HERE_HERE_H
#define ZCSI_CLI_HERE_HERE_H

/* The host where zcsi runs: its programs, its pools and its folders. */

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/mem.h"

/* Run a program. Returns 0 if it succeeded, and *ret_out, unless NULL, is its output. */
int here_run(struct arena *arena, const char *const *argv, const char **ret_out, struct error *err);
/* Returns true if a pool of this host has the dataset or snapshot with this guid by that name. */
bool here_has(struct arena *arena, const char *name, uint64_t guid);
/* *ret is the absolute path of a folder that exists and is empty. Returns 0, or -1 with *err. */
int here_check_folder(struct arena *arena, const char *folder, const char **ret, struct error *err);
/* Run mount(8). Returns 0, or -1 with *err. */
int here_mount(struct arena *arena, const char *type, const char *options, const char *source,
	       const char *path, struct error *err);
/* Wait until udev has made a device, for 10 seconds at most. Returns 0, or -1 with *err. */
int here_wait(const char *device, struct error *err);

#endif
