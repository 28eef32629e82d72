/* SPDX-License-Identifier: MPL-2.0 */
/*
 * The trust settings of a daemon: loads the files of the --tls options and checks them together.
 *
 * Invariant: all three files are given; or none, and no --allow, which has no effect without TLS.
 * A daemon with a part of the settings does not start, rather than run without protection.
 */
#include "transport/trust.h"

#include "common/mem.h"
#include "transport/allow.h"

static int check_complete(const struct trust *trust, struct error *err)
{
	const struct {
		const char *option, *value;
	} files[] = {
		{"--tls-ca", trust->ca},
		{"--tls-cert", trust->certificate},
		{"--tls-key", trust->key},
	};

	for (size_t i = 0; i < COUNT(files); i++)
		if (!files[i].value)
			return fail(err, ERR_INVALID_ARGUMENT,
				    "%s is missing: TLS and --allow need --tls-ca, --tls-cert and "
				    "--tls-key",
				    files[i].option);
	return 0;
}

int trust_open(struct trust *trust, struct error *err)
{
	trust->tls = NULL;
	if (!trust->ca && !trust->certificate && !trust->key && trust->allow.n == 0)
		return 0;
	if (check_complete(trust, err) < 0 || allow_check_list(&trust->allow, err) < 0)
		return -1;
	return tls_new(&trust->tls, trust->ca, trust->certificate, trust->key, err);
}

void trust_close(struct trust *trust)
{
	tls_free(trust->tls);
	trust->tls = NULL;
}
