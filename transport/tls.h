/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TLS_H
#define ZCSI_TLS_H

/*
 * Credentials from three PEM files: the certificates of the CAs, our certificate (with its chain,
 * if any), and its key. Servers and clients use the same credentials. The files may be replaced at
 * any time; new connections use the new contents. A process without credentials does not use
 * OpenSSL. Loop thread only, once the loop runs.
 */

#include <stdint.h>

#include "common/error.h"

struct tls;
struct ssl_ctx_st;

/* Facts about a certificate, for an operator. */
struct tls_certificate {
	int64_t from, until; /* validity, in seconds since 1970; 0: no certificate */
	char *names; /* names with commas between, as for jobs/local/certs; NULL or to be freed */
};

/*
 * Load the files. The paths outlive the result. Returns -1 with the name of the file and its defect
 * in *err.
 */
int tls_new(struct tls **ret, const char *ca, const char *cert, const char *key, struct error *err);
/* Free the credentials, after every connection that uses them. */
void tls_free(struct tls *tls);

/* Returns the context for a new connection, made of the latest files that could be loaded. */
struct ssl_ctx_st *tls_context(struct tls *tls);
/* Returns the path of our certificate, for error messages. */
const char *tls_certificate(const struct tls *tls);
/* Describe our own certificate in *ret, whose names the caller frees. */
void tls_own(const struct tls *tls, struct tls_certificate *ret);

#endif
