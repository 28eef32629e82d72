/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TLS_H
#define ZCSI_TLS_H

/*
 * Credentials from three PEM files: the certificates of the CAs, our certificate (with its chain,
 * if any), its key. The same for servers and clients. The files may be replaced at any time: new
 * connections use their new contents. OpenSSL is untouched in a process without credentials. Loop
 * thread only once the loop runs.
 */

#include "common/error.h"

struct tls;
struct ssl_ctx_st;

/* The paths outlive it. *err names the file and what is wrong with it. */
int tls_new(struct tls **ret, const char *ca, const char *cert, const char *key, struct error *err);
/* After every connection that was made with it. */
void tls_free(struct tls *tls);

/* For a new connection: the files as they are now, or as they last were good. */
struct ssl_ctx_st *tls_context(struct tls *tls);
/* The path of our certificate, for messages. */
const char *tls_certificate(const struct tls *tls);

#endif
