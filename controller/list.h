/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_LIST_H
#define ZCSI_CONTROLLER_LIST_H

#include "controller/merge.h"

/* The agents' lists, for merge_page. Their entries are Dataset and DatasetSnapshot. */
extern const struct list_kind list_of_volumes;
extern const struct list_kind list_of_snapshots;

#endif
