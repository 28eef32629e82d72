/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_ALLOW_H
#define ZCSI_ALLOW_H

/*
 * The list of --allow: an entry NAME permits every service, an entry SERVICE=NAME that service
 * alone, and an entry SERVICE/METHOD=NAME one method of it. NAME is a name in the caller's
 * certificate: a host name, compared without regard to case, or a URI, compared exactly. There are
 * no wildcards. With an empty list the holder of any certificate of the CA may call every service.
 */

#include "common/error.h"
#include "common/options.h"
#include "transport/tls_names.h"

/* Check that each entry has a name. Returns -1 with ERR_INVALID_ARGUMENT if one has none. */
int allow_check_list(const struct option_list *allow, struct error *err);
/*
 * Returns 0 if a peer with these names may call the method of the service, or -1 with
 * ERR_PERMISSION_DENIED and a text that contains the names, the service and the method.
 */
int allow_check(const struct option_list *allow, const struct tls_names *names, const char *service,
		const char *method, struct error *err);

#endif
