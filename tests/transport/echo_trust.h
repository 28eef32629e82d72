/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TEST_ECHO_TRUST_H
#define ZCSI_TEST_ECHO_TRUST_H

/* Whom echo_server and echo_client believe over tcp: what the folder $CERTIFICATES says. */

#include <stdlib.h>

#include "transport/trust.h"

/* The paths stay allocated, as long as the process. Without the variable: nobody, in plain text. */
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
