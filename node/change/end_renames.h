/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_NODE_CHANGE_END_RENAMES_H
#define ZCSI_NODE_CHANGE_END_RENAMES_H

/* The end of renames that a killed zcsi-node, or an error, has left unfinished. */

#include "node/catalog/catalog.h"

/*
 * End all unfinished renames that the catalog shows. Errors are logged. Called by the catalog's
 * thread.
 */
void end_renames(struct catalog *catalog);

#endif
