/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TLS_PEER_H
#define ZCSI_TLS_PEER_H

/*
 * Requirements on a TLS peer, and the error text when it fails them.
 */

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#include "transport/tls.h"

/* Require TLS 1.3, HTTP/2 and a certificate of our CA from every peer, of a server or a client. */
void tls_require(SSL_CTX *context);

/* The result of a certificate check, stored by SSL_set_app_data of each connection. */
struct tls_verdict {
	const char *host; /* client: host that the certificate must be for; server: NULL */
	char *problem;    /* reason of a refusal, to follow "PEER: "; or NULL. To be freed */
	struct tls_certificate shown; /* client: the server's certificate, also a refused one */
};

/*
 * Client only: require a certificate for host, a DNS name or an IP address. Returns false when out
 * of memory.
 */
bool tls_require_host(SSL *ssl, const char *host);
/* Client only: true if ALPN chose HTTP/2. A server refuses the handshake otherwise. */
bool tls_agreed_on_http2(const SSL *ssl);

#define TLS_DATES_SIZE 64

/*
 * Returns true if the certificate is not valid now, with a text such as "expired on 2026-01-31
 * 12:00:00 UTC" in ret_text.
 */
bool tls_dates_problem(const X509 *cert, char ret_text[TLS_DATES_SIZE]);

/* Describe a certificate in *ret, whose names the caller frees. */
void tls_describe(const X509 *cert, struct tls_certificate *ret);

/* Returns why cert is not for name, compared as in tls_names_have, to be freed; NULL if it is. */
char *tls_name_problem(const X509 *cert, const char *name);

#endif
