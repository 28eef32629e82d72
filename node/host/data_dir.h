/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_DATA_DIR_H
#define ZCSI_NODE_HOST_DATA_DIR_H

/*
 * The data_dir of a Nomad client. Nomad asks for mounts below the data_dir that the job names, but
 * makes the folders for them below that of its own. Where a daemon shares the host's files, the
 * path of its CSI_ENDPOINT shows the latter.
 */

#include "common/error.h"
#include "common/options.h"

/*
 * Check that the data_dir that the job names, NULL if it names none, is the client's. Returns 0 if
 * it is, or if none of the endpoints shows the client's; else -1 with *err.
 */
int data_dir_check(const char *named, const struct option_list *endpoints, struct error *err);

/*
 * Returns what to do about a folder for mounts that does not exist, for an error text. The caller
 * frees it.
 */
char *data_dir_advice(const struct option_list *endpoints);

#endif
