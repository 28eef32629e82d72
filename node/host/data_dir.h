/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_HOST_DATA_DIR_H
#define ZCSI_NODE_HOST_DATA_DIR_H

/*
 * The data_dir of a Nomad client. Nomad asks for mounts below the data_dir that the plugin's job
 * names, but makes the directories for them below the client's own data_dir. If zcsi-node shares
 * the host's files, the path of its CSI_ENDPOINT shows the client's.
 */

#include "common/error.h"
#include "common/options.h"

/*
 * Check that the data_dir that the job names is the client's. named: NULL if the job names none.
 * Returns 0 if it is, or if no endpoint shows the client's data_dir; else -1 with *err.
 */
int data_dir_check(const char *named, const struct option_list *endpoints, struct error *err);

/*
 * Returns the advice for the error that a directory for mounts does not exist. The caller frees it.
 */
char *data_dir_advice(const struct option_list *endpoints);

#endif
