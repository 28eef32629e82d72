/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_CLI_CREDENTIALS_H
#define ZCSI_CLI_CREDENTIALS_H

#include "common/mem.h"
#include "transport/trust.h"

/*
 * If no --tls option is given, use the CA and the first readable certificate of a folder: that of
 * an operator, or of the controller, whom every agent permits. Without any, trust is unchanged.
 * The paths are in the arena.
 */
void credentials_find(struct trust *trust, const char *folder, struct arena *arena);

#endif
