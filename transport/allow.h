/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ALLOW_H
#define ZCSI_ALLOW_H

/*
 * The list of --allow: NAME may call every service, SERVICE=NAME that service alone. A name is one
 * of those in the caller's certificate, written as there; there are no wildcards. With an empty
 * list every certificate of the CA may call.
 */

#include "common/error.h"
#include "common/options.h"
#include "transport/tls_peer.h"

/* Check that each entry has a name. */
int allow_check_list(const struct option_list *allow, struct error *err);
/* Check whether a peer with these names may call the service. ERR_PERMISSION_DENIED names both. */
int allow_check(const struct option_list *allow, const struct tls_names *names, const char *service,
		struct error *err);

#endif
