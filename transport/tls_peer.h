/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TLS_PEER_H
#define ZCSI_TLS_PEER_H

/*
 * Requirements on a TLS peer, the error text when it fails them, and the names in its certificate.
 */

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

/* TLS 1.3, HTTP/2, a certificate of our CA: for both roles. */
void tls_require(SSL_CTX *context);

/* Behind a connection's SSL_get_app_data, for what its certificate check finds. */
struct tls_verdict {
	const char *host; /* whose certificate a client wants; NULL for a server */
	char *problem;    /* to follow the peer's name and a colon; NULL, or to be freed */
};

/* A client's: the certificate must be host's, a name or an address. False: out of memory. */
bool tls_require_host(SSL *ssl, const char *host);
/* Did the two agree on HTTP/2? A client's question: a server has not gone on without. */
bool tls_agreed_on_http2(const SSL *ssl);

#define TLS_DATES_SIZE 64

/* "expired on 2026-01-31 12:00:00 UTC", or the like; false when it is valid now. */
bool tls_dates_problem(const X509 *cert, char ret_text[TLS_DATES_SIZE]);

/* The DNS names, URIs and IP addresses that a certificate is for; never its common name. */
struct tls_names {
	size_t n;
	char *list[];
};

struct tls_names *tls_names_new(const X509 *cert);
void tls_names_free(struct tls_names *names);
/* Returns "'a', 'b'", or "nobody" without a name; to be freed. */
char *tls_names_text(const struct tls_names *names);

#endif
