/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_ECHO_TRUST_H
#define ZCSI_TEST_ECHO_TRUST_H

/* TLS settings of echo_server and echo_client: certificates in the folder $CERTIFICATES. */

#include <stdlib.h>

#include "transport/trust.h"

/* Set up *ret. Without $CERTIFICATES it is plain text. The paths are in the arena, which must
 * outlive *ret. Returns 0, or -1 with *err. */
static int echo_trust(struct trust *ret, struct arena *paths, struct error *err)
{
	const char *folder = getenv("CERTIFICATES");

	*ret = (struct trust){0};
	if (folder) {
		ret->ca = arena_printf(paths, "%s/ca.pem", folder);
		ret->certificate = arena_printf(paths, "%s/localhost.pem", folder);
		ret->key = arena_printf(paths, "%s/localhost.key", folder);
	}
	return trust_open(ret, err);
}

#endif
