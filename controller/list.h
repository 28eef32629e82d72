/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CONTROLLER_LIST_H
#define ZCSI_CONTROLLER_LIST_H

#include "controller/merge.h"

/* The agents' lists of snapshots, for merge_page; an entry is a DatasetSnapshot. */
extern const struct list_kind list_of_snapshots;

#endif
