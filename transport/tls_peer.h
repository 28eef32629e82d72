/* SPDX-License-Identifier: MPL-2.0 */
#ifndef ZCSI_TLS_PEER_H
#define ZCSI_TLS_PEER_H

/*
 * Requirements on a TLS peer, the error text when it fails them, and the names in its certificate.
 */

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

/* Require TLS 1.3, HTTP/2 and a certificate of our CA from every peer, of a server or a client. */
void tls_require(SSL_CTX *context);

/* The result of a certificate check, stored by SSL_set_app_data of each connection. */
struct tls_verdict {
	const char *host; /* client: host that the certificate must be for; server: NULL */
	char *problem;    /* reason of a refusal, to follow "PEER: "; or NULL. To be freed */
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

/* The DNS names, URIs and IP addresses of a certificate. The common name is not among them. */
struct tls_names {
	size_t n;
	char *list[];
};

/* Returns the names of a certificate, to be freed by tls_names_free. */
struct tls_names *tls_names_new(const X509 *cert);
void tls_names_free(struct tls_names *names);
/* Host names are compared without regard to case, URIs exactly; there are no wildcards. */
bool tls_names_have(const struct tls_names *names, const char *name);
/* Returns a text such as "'a', 'b'", or "nobody" for no names; to be freed. */
char *tls_names_text(const struct tls_names *names);
/* Returns why a certificate is not for a name, as in tls_names_have; NULL if it is. To be freed. */
char *tls_name_problem(const X509 *cert, const char *name);

#endif
